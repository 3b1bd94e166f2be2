package session

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketOptions prepare a UDP socket before it is bound: shared lets several have
// one address and port, of which the kernel gives a datagram to the one that is
// connected to its sender; device keeps it to an interface.
func socketOptions(shared bool, device string) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			if shared {
				failed = os.NewSyscallError("set SO_REUSEADDR", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
			}
			if failed == nil && device != "" {
				if err := unix.BindToDevice(int(fd), device); err != nil {
					failed = fmt.Errorf("bind to interface %s: %w", device, err)
				}
			}
		})
		if err != nil {
			return err
		}
		return failed
	}
}
