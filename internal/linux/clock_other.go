//go:build !linux

package linux

import "time"

// start is the zero of Monotonic.
var start = time.Now()

// Monotonic returns the nanoseconds since the process started, from a clock
// that is never set.
func Monotonic() int64 { return int64(time.Since(start)) }

// WallOffset returns what has to be added to a Monotonic reading to give
// nanoseconds since 1970 UTC.
func WallOffset() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(start))
}

// TAIOffset is unknown here.
func TAIOffset() (int64, bool) { return 0, false }

// Clock is unknown here.
func Clock() (ClockState, bool) { return ClockState{}, false }

// BootID is unknown here.
func BootID() ([16]byte, bool) { return [16]byte{}, false }
