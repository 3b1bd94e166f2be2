package linux

import (
	"math"
	"os"
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds, the clock that the kernel,
// eBPF and every process of this host share. It stands still while the machine
// is suspended. It is the runtime's own reading of that clock through the vDSO,
// ten times cheaper than the system call.
//
//go:linkname Monotonic runtime.nanotime
func Monotonic() int64

// WallOffset returns CLOCK_REALTIME - CLOCK_MONOTONIC in nanoseconds: added to a
// Monotonic reading it gives nanoseconds since 1970 UTC. It moves whenever the
// wall clock is set or slewed.
func WallOffset() int64 {
	return offset(unix.CLOCK_REALTIME)
}

// TAIOffset returns CLOCK_TAI - CLOCK_MONOTONIC in nanoseconds: added to a Monotonic
// reading it gives international atomic time since 1970. It is false unless something
// told the kernel how far UTC lags behind TAI: without that, CLOCK_TAI is UTC under
// another name.
func TAIOffset() (int64, bool) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil || t.Tai == 0 {
		return 0, false
	}
	return offset(unix.CLOCK_TAI), true
}

// offset returns how far a clock is ahead of CLOCK_MONOTONIC. It reads the clock
// between two readings of the other and keeps the tightest of a few, so that an
// interruption in between does not show.
func offset(clock int32) int64 {
	var best int64
	width := int64(math.MaxInt64)
	for range 8 {
		var ts unix.Timespec
		before := Monotonic()
		if err := unix.ClockGettime(clock, &ts); err != nil {
			panic("clock_gettime: " + err.Error()) // these clocks exist since Linux 3.10
		}
		after := Monotonic()
		if after-before < width {
			width = after - before
			best = ts.Nano() - before - width/2
		}
	}
	return best
}

// Clock returns the state of the wall clock, and false where it can't be read.
func Clock() (ClockState, bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return ClockState{}, false
	}
	return ClockState{
		Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxError:     time.Duration(t.Maxerror) * time.Microsecond,
	}, true
}

// BootID returns the kernel's random id of this boot. Two ends that have the
// same id share one kernel, hence one CLOCK_MONOTONIC.
func BootID() ([16]byte, bool) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return [16]byte{}, false
	}
	return parseBootID(text)
}
