package rx

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter sleeps until one of some sockets has something to read. It keeps what
// it hands to the kernel, so that waiting allocates nothing but the first time.
type waiter struct {
	poll    []unix.PollFd
	timeout unix.Timespec
}

// wait is true when a socket is readable and false when the time has passed or a
// socket has an error, which it returns and so clears: a ring would never tell,
// and polling would not sleep again.
func (w *waiter) wait(fds []int, until time.Time) (bool, error) {
	for {
		left := time.Until(until)
		if left <= 0 {
			return false, nil
		}
		w.poll = w.poll[:0]
		for _, fd := range fds {
			w.poll = append(w.poll, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		w.timeout = unix.NsecToTimespec(int64(left))
		n, err := unix.Ppoll(w.poll, &w.timeout, nil)
		switch {
		case err == unix.EINTR: // the Go runtime's own signals
		case err != nil:
			return false, fmt.Errorf("ppoll: %w", err)
		case n > 0:
			return w.ready()
		}
	}
}

// ready is true unless a socket has an error.
func (w *waiter) ready() (bool, error) {
	for i := range w.poll {
		if w.poll[i].Revents&^unix.POLLIN == 0 {
			continue
		}
		if err := socketError(int(w.poll[i].Fd)); err != nil && err != unix.ECONNREFUSED {
			return false, err
		}
	}
	return true, nil
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
