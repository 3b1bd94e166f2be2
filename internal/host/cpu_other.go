//go:build !linux

package host

import (
	"errors"
	"fmt"
	"runtime"
)

// ReadCPU is known on Linux alone: elsewhere its error wraps errors.ErrUnsupported.
func ReadCPU() (CPUTimes, error) {
	return CPUTimes{}, fmt.Errorf("CPU time on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
