package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// receiveBuffer is the SO_RCVBUF of a socket in bytes; 0 if it can't be told.
func receiveBuffer(c syscall.Conn) (bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if bytes, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
			bytes = 0
		}
	})
	return bytes
}
