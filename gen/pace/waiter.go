package pace

import (
	"sync/atomic"
	"time"

	"linerate/internal/linux"
)

const (
	firstMargin = int64(60 * time.Microsecond)
	leastMargin = int64(5 * time.Microsecond)
	mostMargin  = int64(time.Millisecond)
	// longestSleep bounds how long a stop can go unseen.
	longestSleep = int64(50 * time.Millisecond)
)

// A Waiter waits for instants of CLOCK_MONOTONIC: it sleeps while they are far
// and spins when they are near, and learns from its own oversleeping how near
// that is. It belongs to one locked thread.
type Waiter struct {
	margin int64 // ns before the instant at which sleeping ends
}

// Wait returns at the instant at (ns), or as soon as stop is set, with the time
// it then is. now is the time when it is called.
func (w *Waiter) Wait(now, at int64, stop *atomic.Bool) int64 {
	if now >= at {
		return now
	}
	if w.margin == 0 {
		w.margin = firstMargin
	}
	// Shrinking at each wait, not at each sleep, lets it recover from a stall
	// that made the margin longer than the gaps.
	w.margin = max(w.margin-w.margin/64, leastMargin)
	for now < at && !stop.Load() {
		if left := at - now - w.margin; left > w.margin {
			wake := now + min(left, longestSleep)
			linux.SleepUntil(wake)
			now = linux.Monotonic()
			w.learn(now - wake)
			continue
		}
		now = linux.Monotonic()
	}
	return now
}

// learn moves the margin towards what the machine oversleeps by; a rare stall
// does not turn all waiting into spinning.
func (w *Waiter) learn(overslept int64) {
	if want := min(overslept+overslept/2, mostMargin); want > w.margin {
		w.margin += (want - w.margin) / 4
	}
}
