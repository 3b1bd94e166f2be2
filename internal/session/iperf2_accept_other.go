//go:build !linux

package session

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"syscall"
)

// socketOptions are those of Linux, which has rules for datagrams to a port that
// several sockets share.
func socketOptions(shared bool, device string) func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error {
		switch {
		case shared:
			return fmt.Errorf("several sockets at one UDP port on %s: %w", runtime.GOOS, errors.ErrUnsupported)
		case device != "":
			return fmt.Errorf("bind to interface %s on %s: %w", device, runtime.GOOS, errors.ErrUnsupported)
		}
		return nil
	}
}

// receiveNow is needed where sockets share a port alone.
func receiveNow(*net.UDPConn, []byte) (n int, from netip.AddrPort, err error) { return 0, from, nil }
