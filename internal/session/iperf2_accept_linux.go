package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// dial opens a socket at the listener's own address local, connected to a client, and
// calls bound in between: by then no datagram to local comes to the listener.
func (l *IPerf2Listener) dial(ctx context.Context, local, to netip.AddrPort, bound func() error) (net.Conn, error) {
	d := net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
		return errors.Join(shared(l.device, l.window)(network, address, c), bind(c, local), bound())
	}}
	return d.DialContext(ctx, "udp", to.String())
}

func bind(c syscall.RawConn, local netip.AddrPort) error {
	var name unix.Sockaddr
	if local.Addr().Is4() {
		name = &unix.SockaddrInet4{Port: int(local.Port()), Addr: local.Addr().As4()}
	} else {
		name6 := &unix.SockaddrInet6{Port: int(local.Port()), Addr: local.Addr().As16()}
		if zone := local.Addr().Zone(); zone != "" {
			index, err := linux.ZoneIndex(zone)
			if err != nil {
				return err
			}
			name6.ZoneId = uint32(index)
		}
		name = name6
	}
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.Bind(int(fd), name) })
	return errors.Join(err, os.NewSyscallError("bind", failed))
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

// waits says whether a datagram waits in a socket.
func waits(conn *net.UDPConn) (waiting bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), nil, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		waiting = err == nil
	})
	return waiting
}
