package session

import (
	"testing"
	"time"
)

// BC-148: whoever reads the ticks late, or misses some, gets whole multiples of the
// interval, and none before its time.
func TestTicksAreMultiples(t *testing.T) {
	const interval = 5 * time.Millisecond
	begun := time.Now()
	tick := newTicks(begun, interval, 0)
	defer tick.stop()
	for last, busy := time.Duration(0), 0*interval; busy < 4*interval; busy += interval / 2 {
		time.Sleep(busy)
		<-tick.C
		at, omitted := tick.next()
		if now := time.Since(begun); at%interval != 0 || at <= last || at > now || omitted {
			t.Errorf("a tick of %v at %v, after that of %v (omitted: %v)", at, now, last, omitted)
		}
		if at <= last+busy-interval {
			t.Errorf("a tick of %v where %v had passed since that of %v", at, busy, last)
		}
		last = at
	}
}

// Where the first time is omitted the multiples begin anew at its end.
func TestTicksBeginAnew(t *testing.T) {
	const interval, omit = 20 * time.Millisecond, 30 * time.Millisecond
	tick := newTicks(time.Now(), interval, omit)
	defer tick.stop()
	anew := false
	for range 4 {
		<-tick.C
		at, omitted := tick.next()
		switch {
		case tick.restarted():
			if anew || at != omit || !omitted {
				t.Errorf("anew at %v (omitted: %v, before: %v)", at, omitted, anew)
			}
			anew = true
		case omitted != !anew || anew && at%interval != 0:
			t.Errorf("a tick of %v (omitted: %v), anew: %v", at, omitted, anew)
		}
	}
	if !anew {
		t.Error("they never begin anew")
	}
}
