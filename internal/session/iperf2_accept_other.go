//go:build !linux

package session

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// shareAddress is for Linux, which has rules for datagrams to a shared port.
func shareAddress(string) func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error {
		return fmt.Errorf("several sockets at one UDP port on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
}
