package session

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
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

// receiveNow takes a datagram that waits in a socket; without one from is not
// valid. An IPv4 address comes as such.
func receiveNow(conn *net.UDPConn, b []byte) (n int, from netip.AddrPort, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, from, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		var name unix.Sockaddr
		n, name, failed = unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
		switch a := name.(type) {
		case *unix.SockaddrInet4:
			from = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
		case *unix.SockaddrInet6:
			addr := netip.AddrFrom16(a.Addr).Unmap()
			if ifi, err := net.InterfaceByIndex(int(a.ZoneId)); err == nil && a.ZoneId != 0 {
				addr = addr.WithZone(ifi.Name)
			}
			from = netip.AddrPortFrom(addr, uint16(a.Port))
		}
		return true
	})
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.ECONNREFUSED) {
		failed = nil
	}
	return n, from, errors.Join(err, os.NewSyscallError("recvfrom", failed))
}
