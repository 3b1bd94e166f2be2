package linux

import (
	"errors"
	"io"
	"syscall"
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
	fd, err := Share(c)
	return fd, errors.Join(err, c.Close())
}
