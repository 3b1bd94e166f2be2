package rx

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// A udpSocket is a UDP socket that never blocks.
type udpSocket struct {
	fd     int
	family int // AF_INET6 takes both IP versions if it is bound to no address
}

// newUDPSocket opens a socket for what the Config says of address and interface,
// with multicast groups joined, and leaves it to the caller to bind it.
func newUDPSocket(c *Config) (udpSocket, error) {
	addr := c.Local.Addr().Unmap()
	s := udpSocket{family: unix.AF_INET6}
	ipv4, ipv6 := c.versions()
	if !ipv6 {
		s.family = unix.AF_INET
	}
	var err error
	s.fd, err = unix.Socket(s.family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) && ipv4 && ipv6 {
		s.family = unix.AF_INET // a kernel without IPv6
		s.fd, err = unix.Socket(s.family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	}
	if err != nil {
		return s, fmt.Errorf("open a UDP socket: %w", err)
	}
	if err := s.prepare(c, addr); err != nil {
		return s, errors.Join(err, unix.Close(s.fd))
	}
	return s, nil
}

// prepare sets what has to be set before the socket is bound.
func (s udpSocket) prepare(c *Config, addr netip.Addr) error {
	if s.family == unix.AF_INET6 {
		only := 0
		if ipv4, _ := c.versions(); !ipv4 {
			only = 1
		}
		if err := unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only); err != nil {
			return fmt.Errorf("setsockopt IPV6_V6ONLY: %w", err)
		}
	}
	if c.Interface != "" {
		if err := unix.BindToDevice(s.fd, c.Interface); err != nil {
			return fmt.Errorf("bind to interface %s: %w", c.Interface, err)
		}
	}
	if addr.IsMulticast() {
		return s.join(c, addr)
	}
	return nil
}

// join makes the socket, and so the host and its NIC, a member of a group.
func (s udpSocket) join(c *Config, group netip.Addr) error {
	index, err := scope(c, group)
	if err != nil {
		return err
	}
	if group.Is4() {
		err = unix.SetsockoptIPMreqn(s.fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP,
			&unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(index)})
	} else {
		err = unix.SetsockoptIPv6Mreq(s.fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP,
			&unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(index)})
	}
	if err != nil {
		return fmt.Errorf("join %s: %w (name the interface, with --iface, if no route leads to the group)", group, err)
	}
	return nil
}

// bind binds the socket to the address and port of the Config.
func (s udpSocket) bind(c *Config) error {
	addr := c.Local.Addr().Unmap()
	var name unix.Sockaddr
	if s.family == unix.AF_INET {
		name4 := &unix.SockaddrInet4{Port: int(c.Local.Port())}
		if addr.Is4() {
			name4.Addr = addr.As4()
		}
		name = name4
	} else {
		name6 := &unix.SockaddrInet6{Port: int(c.Local.Port())}
		if addr.Is6() {
			index, err := scope(c, addr)
			if err != nil {
				return err
			}
			name6.Addr, name6.ZoneId = addr.As16(), uint32(index)
		}
		name = name6
	}
	switch err := unix.Bind(s.fd, name); err {
	case nil:
		return nil
	case unix.EADDRINUSE:
		return fmt.Errorf("listen on %s: %w (ss -uanp shows by whom)", c.Local, err)
	case unix.EACCES:
		return fmt.Errorf("listen on %s: %w (a port below 1024 needs CAP_NET_BIND_SERVICE)", c.Local, err)
	case unix.EADDRNOTAVAIL:
		return fmt.Errorf("listen on %s: %w (no address of this host)", c.Local, err)
	case unix.EINVAL:
		return fmt.Errorf("listen on %s: %w (a link-local address needs its interface: %s%%eth0)", c.Local, err, addr.WithZone(""))
	default:
		return fmt.Errorf("listen on %s: %w", c.Local, err)
	}
}

// scope is the index of the interface that an address belongs to: its zone, a
// name or a number, or else the interface of the Config; 0 if there is neither.
func scope(c *Config, addr netip.Addr) (int, error) {
	zone := addr.Zone()
	if zone == "" || zone == c.Interface {
		return c.IfIndex, nil
	}
	index, err := linux.ZoneIndex(zone)
	if err != nil {
		return 0, fmt.Errorf("zone of %s: %w", addr, err)
	}
	return index, nil
}

// receiveBuffer asks for a receive buffer of the given size, 0 for the kernel's
// default, and returns what the kernel gave.
func receiveBuffer(fd, size int) (int, error) {
	if err := linux.SetReceiveBuffer(fd, size); err != nil {
		return 0, err
	}
	given, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0, fmt.Errorf("getsockopt SO_RCVBUF: %w", err)
	}
	return given, nil
}

// stampArrivals has the kernel stamp what the socket receives, as early as it
// does that at all. Where it can't (before Linux 5.1), the time of reading
// serves.
func stampArrivals(fd int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1)
	if err != nil && !errors.Is(err, unix.ENOPROTOOPT) {
		return fmt.Errorf("setsockopt SO_TIMESTAMPNS: %w", err)
	}
	return nil
}

// tellTOS has the kernel tell the IPv4 TOS and the IPv6 traffic class of what the
// socket receives. One of IPv6 gets datagrams of either version.
func tellTOS(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1); err != nil {
		return fmt.Errorf("setsockopt IP_RECVTOS: %w", err)
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil && domain == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
	}
	if err != nil {
		return fmt.Errorf("setsockopt IPV6_RECVTCLASS: %w", err)
	}
	return nil
}
