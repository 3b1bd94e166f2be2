package pace

import (
	"sync/atomic"
	"time"

	"linerate/internal/linux"
)

const (
	firstMargin = int64(60 * time.Microsecond)
	// leastMargin covers how late a wake-up usually is. With less, debt that is repaid
	// by gaps of 4/5 grows by each of them.
	leastMargin = int64(10 * time.Microsecond)
	// gone is for how long the processor is away where others have it, and is not only
	// slow to wake.
	gone = int64(time.Millisecond)
	// sharing is within what time others take it again who are busy, and for how long
	// after that they are believed to be. A hypervisor takes it once in a while.
	sharing = int64(100 * time.Millisecond)
	// shrinking is the part of the margin that each wait takes off, to try whether less
	// will do. A try that fails leaves a packet late.
	shrinking = 256
	// longestSleep bounds how long a stop can go unseen.
	longestSleep = int64(50 * time.Millisecond)
)

// A Waiter waits for instants of CLOCK_MONOTONIC: it sleeps while they are far
// and spins when they are near, and learns from its own oversleeping how near
// that is. It belongs to one locked thread.
type Waiter struct {
	margin int64 // ns before the instant at which sleeping ends
	taken  int64 // time when the processor came back last
	shared int64 // time until which others are believed to be busy on it
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
	// Shrinking at each wait, not at each sleep, lets it recover from a slow waking
	// that made the margin longer than the gaps.
	w.margin = max(w.margin-w.margin/shrinking, leastMargin)
	for now < at && !stop.Load() {
		last, wake := now, now
		if left := at - now - w.margin; left > w.margin {
			wake += min(left, longestSleep)
			linux.SleepUntil(wake)
		}
		now = linux.Monotonic()
		w.learn(now, now-wake, wake > last)
	}
	return now
}

// learn is told of each look at the clock, by how many ns it came late, and whether
// after a sleep. It moves the margin towards what the machine oversleeps by. While
// others have the processor no margin helps: who uses less of it gets it back sooner.
func (w *Waiter) learn(now, late int64, slept bool) {
	switch {
	case late > gone && now < w.taken+sharing:
		w.margin, w.taken, w.shared = leastMargin, now, now+sharing
	case late > gone:
		w.taken = now
	case slept && now > w.shared:
		w.margin = max(w.margin, late+late/2)
	}
}
