//go:build unix && !linux

package linux

import (
	"errors"
	"fmt"
	"syscall"
)

// BindToDevice is for Linux: elsewhere only an empty name is no error.
func BindToDevice(_ syscall.RawConn, name string) error { return needsLinux(name) }

// ReuseAddress lets several sockets have one local address. BSD shares an address
// among UDP sockets by SO_REUSEPORT alone.
func ReuseAddress(c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEPORT, 1))
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("share an address: %w", err)
	}
	return nil
}
