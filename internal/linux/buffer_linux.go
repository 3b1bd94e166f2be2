package linux

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReceiveBuffer asks for a socket's receive buffer of so many bytes (SO_RCVBUF of
// socket(7)); 0 leaves the kernel's. Without CAP_NET_ADMIN net.core.rmem_max is the
// most that it gets.
func ReceiveBuffer(c syscall.RawConn, bytes int) error {
	if bytes == 0 {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes) != nil {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("setsockopt SO_RCVBUF: %w", err)
	}
	return nil
}
