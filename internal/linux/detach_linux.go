package linux

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Conn is a socket that the Go runtime's poller watches.
type Conn interface {
	syscall.Conn
	io.Closer
}

// Detach returns a descriptor of the socket that the caller owns, and closes the
// Conn. The poller would be woken by every frame that came or was freed, on a
// thread of its own, to tell a goroutine that nobody waits with.
func Detach(c Conn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, errors.Join(err, c.Close())
	}
	fd := -1
	var errDup error
	err = raw.Control(func(old uintptr) {
		fd, errDup = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, errDup, c.Close())
}
