//go:build !linux

package linux

import (
	"errors"
	"fmt"
	"runtime"
)

// needsLinux refuses an interface where sockets can't be kept to one.
func needsLinux(device string) error {
	if device == "" {
		return nil
	}
	return fmt.Errorf("bind to interface %s on %s: %w (--iface)", device, runtime.GOOS, errors.ErrUnsupported)
}
