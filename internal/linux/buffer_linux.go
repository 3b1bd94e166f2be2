package linux

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReceiveBuffer is SetReceiveBuffer for a socket of the Go runtime's.
func ReceiveBuffer(c syscall.RawConn, bytes int) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = SetReceiveBuffer(int(fd), bytes) })
	return errors.Join(err, failed)
}

// SetReceiveBuffer asks for a socket's receive buffer of so many bytes (SO_RCVBUF of
// socket(7)); 0 leaves the kernel's. Without CAP_NET_ADMIN net.core.rmem_max is the
// most that it gets.
func SetReceiveBuffer(fd, bytes int) error {
	if bytes == 0 || unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes); err != nil {
		return fmt.Errorf("setsockopt SO_RCVBUF: %w", err)
	}
	return nil
}
