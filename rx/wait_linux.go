package rx

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter sleeps until a socket has something to read. It keeps what it hands
// to the kernel, so that waiting allocates nothing.
type waiter struct {
	poll    [1]unix.PollFd
	timeout unix.Timespec
}

// wait is true when the socket is readable and false when the time has passed or
// the socket has an error, which it returns and so clears: a ring would never
// tell, and polling would not sleep again.
func (w *waiter) wait(fd int, until time.Time) (bool, error) {
	for {
		left := time.Until(until)
		if left <= 0 {
			return false, nil
		}
		w.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		w.timeout = unix.NsecToTimespec(int64(left))
		n, err := unix.Ppoll(w.poll[:], &w.timeout, nil)
		switch {
		case err == unix.EINTR: // the Go runtime's own signals
		case err != nil:
			return false, fmt.Errorf("ppoll: %w", err)
		case n > 0 && w.poll[0].Revents&^unix.POLLIN != 0:
			return false, socketError(fd)
		case n > 0:
			return true, nil
		}
	}
}

// socketError returns and clears the error that waits at a socket.
func socketError(fd int) error {
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return fmt.Errorf("getsockopt SO_ERROR: %w", err)
	}
	if code == 0 {
		return nil
	}
	return unix.Errno(code)
}
