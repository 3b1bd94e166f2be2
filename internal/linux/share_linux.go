package linux

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Share returns another descriptor of a connection's socket, which the caller
// closes. Both name one socket: its options, its queue and that it never blocks
// (fcntl(2), F_DUPFD_CLOEXEC).
func Share(c syscall.Conn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("share a socket: %w", err)
	}
	fd := -1
	var failed error
	err = raw.Control(func(own uintptr) {
		fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("share a socket: %w", err)
	}
	return fd, nil
}
