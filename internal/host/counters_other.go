//go:build !linux

package host

import (
	"errors"
	"fmt"
	"runtime"
)

// ReadSnapshot is known on Linux alone: elsewhere its error wraps errors.ErrUnsupported.
func ReadSnapshot(ifindex int) (*Snapshot, error) {
	return nil, fmt.Errorf("network counters on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
