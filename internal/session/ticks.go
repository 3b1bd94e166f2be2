package session

import "time"

// ticks come at whole multiples of an interval after a start, however long the
// reader of the last one took.
type ticks struct {
	C        <-chan time.Time // nil for an interval of 0: never
	timer    *time.Timer
	begun    time.Time
	interval time.Duration
	n        int64 // of the tick that comes next
}

func newTicks(begun time.Time, interval time.Duration) *ticks {
	t := &ticks{begun: begun, interval: interval, n: 1}
	if interval > 0 {
		t.timer = time.NewTimer(time.Until(begun.Add(interval)))
		t.C = t.timer.C
	}
	return t
}

// next sets the next tick and returns the time of this one after the start.
func (t *ticks) next() time.Duration {
	at := time.Duration(t.n) * t.interval
	if late := time.Since(t.begun) - at; late >= t.interval {
		// Ticks were missed: this one stands for them too.
		at += late / t.interval * t.interval
		t.n += int64(late / t.interval)
	}
	t.n++
	t.timer.Reset(time.Until(t.begun.Add(time.Duration(t.n) * t.interval)))
	return at
}

func (t *ticks) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
