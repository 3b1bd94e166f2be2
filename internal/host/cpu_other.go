//go:build !linux

package host

import (
	"errors"
	"fmt"
	"runtime"
)

// readCPU is known on Linux alone: elsewhere its error wraps errors.ErrUnsupported.
func readCPU() (cpuTimes, error) {
	return cpuTimes{}, fmt.Errorf("CPU time on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
