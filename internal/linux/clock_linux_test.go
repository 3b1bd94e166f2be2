package linux

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func monotonicBySyscall(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

func TestMonotonicIsTheKernelsClock(t *testing.T) {
	for range 1000 {
		before := monotonicBySyscall(t)
		now := Monotonic()
		if after := monotonicBySyscall(t); now < before || now > after {
			t.Fatalf("Monotonic = %d, between readings of CLOCK_MONOTONIC of %d and %d", now, before, after)
		}
	}
}

func TestWallOffset(t *testing.T) {
	before := time.Now().UnixNano()
	wall := Monotonic() + WallOffset()
	after := time.Now().UnixNano()
	const slack = int64(100 * time.Microsecond) // half the widest sandwich to be expected
	if wall < before-slack || wall > after+slack {
		t.Errorf("wall time %d, between readings of %d and %d", wall, before, after)
	}
}

func TestTAI(t *testing.T) {
	var timex unix.Timex
	if _, err := unix.Adjtimex(&timex); err != nil {
		t.Fatal(err)
	}
	offset, ok := TAIOffset()
	tai := Monotonic() + offset
	if ok != (timex.Tai != 0) {
		t.Fatalf("TAI known: %v, while the kernel's offset is %d s", ok, timex.Tai)
	}
	if ok {
		ahead := time.Duration(tai - time.Now().UnixNano()).Round(time.Second)
		if want := time.Duration(timex.Tai) * time.Second; ahead != want {
			t.Errorf("TAI is %v ahead of UTC, want %v", ahead, want)
		}
	}
}

func TestClock(t *testing.T) {
	state, ok := Clock()
	if !ok || state.MaxError < 0 {
		t.Errorf("Clock = %+v, %v", state, ok)
	}
}

func BenchmarkMonotonic(b *testing.B) {
	for b.Loop() {
		Monotonic()
	}
}
