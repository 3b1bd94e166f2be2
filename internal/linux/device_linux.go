package linux

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// BindToDevice keeps a socket to one interface (SO_BINDTODEVICE of socket(7));
// an empty name leaves it as it is.
func BindToDevice(c syscall.RawConn, name string) error {
	if name == "" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.BindToDevice(int(fd), name) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("bind to interface %s: %w (--iface)", name, err)
	}
	return nil
}

// ReuseAddress lets several sockets have one local address (SO_REUSEADDR of
// socket(7)): a listening one, and others that are connected.
func ReuseAddress(c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("setsockopt SO_REUSEADDR: %w", err)
	}
	return nil
}
