package tcp

import (
	"bytes"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// Window tells the bytes that SO_SNDBUF and SO_RCVBUF have now; Linux counts its
// own bookkeeping in, and so gives twice what was asked (socket(7)).
func Window(conn *net.TCPConn) (send, receive int, err error) {
	if send, err = number(conn, unix.SOL_SOCKET, unix.SO_SNDBUF, "SO_SNDBUF"); err != nil {
		return 0, 0, err
	}
	receive, err = number(conn, unix.SOL_SOCKET, unix.SO_RCVBUF, "SO_RCVBUF")
	return send, receive, err
}

// MSS tells the bytes of payload that a segment of this connection may carry now
// (TCP_MAXSEG).
func MSS(conn *net.TCPConn) (int, error) {
	return number(conn, unix.IPPROTO_TCP, unix.TCP_MAXSEG, "TCP_MAXSEG")
}

// Congestion tells the congestion control of the connection by the kernel's name.
func Congestion(conn *net.TCPConn) (string, error) {
	b := make([]byte, congestionNameLen)
	n, err := option(conn, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "TCP_CONGESTION", b)
	if err != nil {
		return "", err
	}
	name, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(name), nil
}

// congestionNameLen is TCP_CA_NAME_MAX of the kernel's net/tcp.h.
const congestionNameLen = 16

func number(conn *net.TCPConn, level, name int, called string) (value int, err error) {
	err = onSocket(conn, func(fd uintptr) (err error) {
		value, err = unix.GetsockoptInt(int(fd), level, name)
		return os.NewSyscallError("get "+called, err)
	})
	return value, err
}

// option reads a socket option into b and returns how much of it the kernel
// filled.
func option(conn *net.TCPConn, level, name int, called string, b []byte) (n int, err error) {
	err = onSocket(conn, func(fd uintptr) (err error) {
		n, err = linux.Getsockopt(int(fd), level, name, b)
		return os.NewSyscallError("get "+called, err)
	})
	return n, err
}
