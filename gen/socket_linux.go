package gen

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// An outcome is what became of a batch that was offered to a socket.
type outcome struct {
	sent    int
	refused uint64 // stops for want of room: EAGAIN, ENOBUFS
	silent  uint64 // stops that the kernel gave no reason for, and that didn't last
	stale   uint64 // errors that the socket had kept from earlier
	err     error  // why the next packet can't be sent, and won't be later
}

// staleTries is how often in a row an error may have been an earlier one.
const staleTries = 8

// offer sends the first n messages of a batch until the kernel has no room for
// the next. sendmmsg gives a reason only when it took nothing, so a short count
// is followed by another call, which tells.
//
// An error can be old news: an ICMP message that came back, or a link that was
// down. The kernel reports it once, in place of the next packet, so that packet
// is tried again; an error of the packet's own stays. A refused connection is
// always old news.
func offer(m *linux.MMsg, fd, n int) (o outcome) {
	stopped := false
	for tries := 0; ; {
		k, err := m.Send(fd, o.sent, n-o.sent)
		o.sent += k
		switch {
		case err == nil:
			if stopped {
				o.silent++
			}
			if o.sent == n {
				return o
			}
			stopped, tries = true, 0
		case isRefusal(err):
			if stopped {
				o.refused++
			}
			o.refused++
			return o
		case tries < staleTries || err == unix.ECONNREFUSED:
			stopped = false // by this very error, or one before it
			tries++
			o.stale++
		default:
			o.stale -= uint64(tries)
			o.err = err
			return o
		}
	}
}

// isRefusal says whether the kernel may take later what it didn't take now: a
// full send buffer (EAGAIN), or a full queue of the interface (ENOBUFS).
func isRefusal(err error) bool { return err == unix.EAGAIN || err == unix.ENOBUFS }

// write sends one message on a connected or bound socket, past errors that the
// socket had kept from earlier.
func write(fd int, b []byte) error {
	for tries := 0; ; tries++ {
		_, err := unix.Write(fd, b)
		if err == nil || isRefusal(err) || tries == staleTries {
			return err
		}
	}
}

// sendError words the error of a packet that can't be sent: size is the length
// in bytes of what was handed over, a frame or a datagram's payload.
func sendError(path, iface, what string, size int, err error) error {
	var hint string
	switch err {
	case unix.EMSGSIZE:
		hint = fmt.Sprintf(" (a %s of %d bytes does not fit the MTU)", what, size)
	case unix.ENETDOWN:
		hint = " (the interface is down: ip link set up)"
	case unix.ENXIO, unix.ENODEV:
		hint = " (the interface is gone)"
	case unix.EPERM:
		hint = " (a firewall rule of this host forbids it)"
	case unix.ENETUNREACH, unix.EHOSTUNREACH:
		hint = " (there is no route: ip route get)"
	}
	if iface != "" {
		iface = " on " + iface
	}
	return fmt.Errorf("path %s: send%s: %w%s", path, iface, err, hint)
}

// setSendBuffer asks for a send buffer of so many bytes, beyond the system's
// limit (net.core.wmem_max) where this process may. The kernel caps what it may
// not without a word.
func setSendBuffer(fd, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, bytes) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes); err != nil {
		return fmt.Errorf("set SO_SNDBUF to %d: %w (--window)", bytes, err)
	}
	return nil
}

func sendBuffer(fd int) (int, error) {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return 0, fmt.Errorf("get SO_SNDBUF: %w", err)
	}
	return n, nil
}

// queued returns the bytes of memory that packets hold which the socket sent
// and the kernel has not freed.
func queued(fd int) (int, error) {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0, fmt.Errorf("SIOCOUTQ: %w", err)
	}
	return n, nil
}

// drainPause is how often a draining path looks.
const drainPause = time.Millisecond

// waitEmpty waits until a socket's packets have left this host's queues.
func waitEmpty(ctx context.Context, fd int) error {
	for {
		n, err := queued(fd)
		if err != nil || n == 0 {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d bytes are still in the send queue: %w", n, err)
		}
		time.Sleep(drainPause)
	}
}
