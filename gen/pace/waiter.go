package pace

import (
	"sync/atomic"
	"time"

	"linerate/internal/linux"
)

const (
	firstMargin = int64(60 * time.Microsecond)
	leastMargin = int64(5 * time.Microsecond)
	// taken is for how long the processor is gone where others have it, and is not only
	// slow to wake.
	taken = int64(time.Millisecond)
	// shrinking is the part of the margin that each wait takes off, to try whether less
	// will do. A try that fails leaves a packet late.
	shrinking = 128
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
	w.margin = max(w.margin-w.margin/shrinking, leastMargin)
	for now < at && !stop.Load() {
		if left := at - now - w.margin; left > w.margin {
			wake := now + min(left, longestSleep)
			linux.SleepUntil(wake)
			now = linux.Monotonic()
			w.learn(now - wake)
			continue
		}
		last := now
		if now = linux.Monotonic(); now-last > taken {
			// Others want the processor: who used less of it gets it back sooner.
			w.margin = leastMargin
		}
	}
	return now
}

// learn moves the margin towards what the machine oversleeps by. Where others had
// the processor no margin helps.
func (w *Waiter) learn(overslept int64) {
	if want := overslept + overslept/2; want > w.margin && overslept < taken {
		w.margin += (want - w.margin) / 4
	}
}
