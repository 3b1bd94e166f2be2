package tcp

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/probe"
)

func newReader(conn *net.TCPConn, verify *probe.Pattern) (reader, error) {
	if verify != nil {
		return newVerifier(conn, verify), nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &discarder{raw: raw}
	d.take = d.recv // bound once: each binding allocates
	return d, nil
}

// dropLen is the most bytes that one system call drops, so that it ends while more come.
const dropLen = 16 << 20

// A discarder lets the kernel drop a stream's bytes without copying them
// (MSG_TRUNC of tcp(7)).
type discarder struct {
	raw  syscall.RawConn
	take func(fd uintptr) bool
	n    int // what the last recv said
	err  error
}

func (d *discarder) read() (n, corrupt int, err error) {
	d.n, d.err = 0, nil
	if err := d.raw.Read(d.take); err != nil {
		return 0, 0, err
	}
	return d.n, 0, d.err
}

// recv takes what there is and says whether it need not wait.
func (d *discarder) recv(fd uintptr) bool {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, 0, dropLen, unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return false
		case errno != 0:
			d.err = os.NewSyscallError("recvfrom", errno)
		case n == 0:
			d.err = io.EOF
		default:
			d.n = int(n)
		}
		return true
	}
}

// wakeRarely has the kernel wake a reader for no less than a sixteenth of the receive
// buffer as it now is (SO_RCVLOWAT): many packets, and yet the window stays open. On a
// short path, which needs little of the window, it is a quarter: whoever has to be woken
// from sleep is late. A small window is waited on by the sender: there every byte wakes.
func wakeRarely(conn *net.TCPConn) error {
	const small = 1 << 20
	buffer, err := number(conn, unix.SOL_SOCKET, unix.SO_RCVBUF, "SO_RCVBUF")
	if err != nil {
		return err
	}
	if buffer < small {
		return wakeAtOnce(conn)
	}
	share := 16
	if isShort(conn) {
		share = 4
	}
	return setLowWater(conn, buffer/share)
}

// isShort says whether a round trip of the connection's path is so short that no window
// is short of it.
func isShort(conn *net.TCPConn) bool {
	info, err := ReadInfo(conn)
	return err == nil && info.RTT != nil && *info.RTT < time.Millisecond
}

// wakeAtOnce has it wake a reader for any byte, as it is with a new connection.
func wakeAtOnce(conn *net.TCPConn) error { return setLowWater(conn, 1) }

func setLowWater(conn *net.TCPConn, bytes int) error {
	return onSocket(conn, func(fd uintptr) error {
		return os.NewSyscallError("set SO_RCVLOWAT",
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes))
	})
}
