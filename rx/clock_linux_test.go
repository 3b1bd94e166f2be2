package rx

import (
	"testing"
	"time"

	"linerate/internal/linux"
)

// TestStampClock sets the wall clock, as it were, by having the clock believe in
// another offset.
func TestStampClock(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, time.Millisecond, -time.Millisecond} {
		var c stampClock
		c.update()
		c.offset += int64(step)
		c.update()
		if off := time.Duration(c.offset - linux.WallOffset()).Abs(); off > 20*time.Microsecond {
			t.Errorf("stepped by %v: off by %v", step, off)
		}
		before := linux.Monotonic()
		got := c.monotonic(time.Now().UnixNano())
		if after := linux.Monotonic(); got < before-20_000 || got > after+20_000 {
			t.Errorf("a stamp between %d and %d is %d", before, after, got)
		}
	}
}

func TestUnstamped(t *testing.T) {
	var c stampClock
	before := linux.Monotonic()
	if got := c.monotonic(0); got < before || got > linux.Monotonic() {
		t.Errorf("%d, want now, %d", got, before)
	}
}
