package session

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareAddress lets several sockets have one address and port, of which the
// kernel gives a datagram to the one that is connected to its sender, and keeps
// them to a device.
func shareAddress(device string) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = os.NewSyscallError("set SO_REUSEADDR", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
			if failed == nil && device != "" {
				if failed = unix.BindToDevice(int(fd), device); failed != nil {
					failed = fmt.Errorf("bind to interface %s: %w", device, failed)
				}
			}
		})
		if err != nil {
			return err
		}
		return failed
	}
}
