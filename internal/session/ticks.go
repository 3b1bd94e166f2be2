package session

import "time"

// ticks come at whole multiples of an interval after a start, however long the
// reader of the last one took. Where the first seconds are omitted, one comes at
// their end, and the multiples begin anew.
type ticks struct {
	C        <-chan time.Time // nil for an interval of 0 with nothing to omit: never
	timer    *time.Timer
	begun    time.Time
	interval time.Duration
	omit     time.Duration // of the time after begun; 0 when it is over
	at       time.Duration // when the next tick is due after begun
	anew     bool          // the last tick ended what is omitted
}

func newTicks(begun time.Time, interval, omit time.Duration) *ticks {
	t := &ticks{begun: begun, interval: interval, omit: omit}
	if t.advance(0) {
		t.timer = time.NewTimer(time.Until(begun.Add(t.at)))
		t.C = t.timer.C
	}
	return t
}

// advance finds the tick after one; it is false if there is none.
func (t *ticks) advance(last time.Duration) bool {
	t.at = last + t.interval
	if t.omit > 0 && (t.interval == 0 || t.at > t.omit) {
		t.at = t.omit
	}
	return t.at > last
}

// next sets the next tick. It returns when this one was due after the start, and
// whether it is of the time that is omitted.
func (t *ticks) next() (at time.Duration, omitted bool) {
	at, omitted = t.at, t.omit > 0
	if t.anew = omitted && at == t.omit; t.anew {
		t.begun, t.omit = t.begun.Add(at), 0
		if t.advance(0) {
			t.timer.Reset(time.Until(t.begun.Add(t.at)))
		}
		return at, true
	}
	if late := time.Since(t.begun) - at; t.interval > 0 && late >= t.interval {
		// Ticks were missed: this one stands for them too.
		at += late / t.interval * t.interval
		if t.omit > 0 {
			at = min(at, t.omit-1)
		}
	}
	if t.advance(at) {
		t.timer.Reset(time.Until(t.begun.Add(t.at)))
	}
	return at, omitted
}

// restarted reports whether the last tick ended what is omitted.
func (t *ticks) restarted() bool { return t.anew }

func (t *ticks) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
