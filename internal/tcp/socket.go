package tcp

import (
	"net"
	"syscall"
)

// onSocket calls f with the descriptor of a connection, which stays open
// meanwhile.
func onSocket(conn *net.TCPConn, f func(fd uintptr) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return onRaw(raw, f)
}

func onRaw(raw syscall.RawConn, f func(fd uintptr) error) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(fd) }); err != nil {
		return err
	}
	return failed
}
