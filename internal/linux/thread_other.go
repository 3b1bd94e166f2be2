//go:build !linux

package linux

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// realtime is not supported here.
func realtime() (undo func(), err error) {
	return nil, fmt.Errorf("real-time priority on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// pin is not supported here.
func pin(int) (undo func(), err error) {
	return nil, fmt.Errorf("a processor of its own for a thread on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// MayRunOn leaves to pin what is unknown here.
func MayRunOn(int) bool { return true }

// PinProcess is not supported here.
func PinProcess(int) error {
	return fmt.Errorf("a process kept to one CPU on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// ThreadCPU is unknown here.
func ThreadCPU() (user, system time.Duration, ok bool) { return 0, 0, false }

// WakeOnTime does nothing: only Linux is told of single threads.
func WakeOnTime() error { return nil }

// Precede does nothing: only Linux is told of single threads.
func Precede() error { return nil }

// SleepUntil sleeps until the given reading of Monotonic.
func SleepUntil(mono int64) { time.Sleep(time.Duration(mono - Monotonic())) }
