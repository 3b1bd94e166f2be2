package gen

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"linerate/gen/frame"
	"linerate/internal/linux"
)

// openFlow makes the UDP socket of a flow, or takes the one that there is: bound,
// connected, non-blocking, and never to fragment.
func openFlow(cfg *Config, flow int) (int, error) {
	if cfg.Sockets != nil {
		return takeFlow(cfg, flow)
	}
	family := unix.AF_INET6
	if cfg.Template.Headers.Dst.Unmap().Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = setUpFlow(fd, cfg)
	if err == nil {
		err = connectFlow(fd, cfg, flow)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// takeFlow shares the socket of a flow with the caller.
func takeFlow(cfg *Config, flow int) (int, error) {
	fd, err := linux.Share(cfg.Sockets[flow])
	if err != nil {
		return -1, err
	}
	if err := setUpFlow(fd, cfg); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// setUpFlow sets what a socket keeps whatever it is connected to.
func setUpFlow(fd int, cfg *Config) error {
	h := &cfg.Template.Headers
	if err := setSendBuffer(fd, cfg.Window); err != nil {
		return err
	}
	options := ip6Options(h, cfg.Fragment)
	if h.Dst.Unmap().Is4() {
		options = ip4Options(h, cfg.Fragment)
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.option, o.value); err != nil {
			return fmt.Errorf("set %s to %d: %w", o.name, o.value, err)
		}
	}
	return nil
}

// connectFlow gives a socket its own end and the other one.
func connectFlow(fd int, cfg *Config, flow int) error {
	h := &cfg.Template.Headers
	if cfg.BindDevice {
		if err := unix.BindToDevice(fd, cfg.Interface); err != nil {
			return fmt.Errorf("bind to interface %s: %w (--iface)", cfg.Interface, err)
		}
	}
	if h.Dst.Unmap().IsMulticast() && cfg.IfIndex != 0 {
		if err := setMulticastInterface(fd, h.Dst.Unmap().Is4(), cfg.IfIndex); err != nil {
			return fmt.Errorf("multicast on %s: %w", cfg.Interface, err)
		}
	}
	if h.Src.IsValid() || h.SrcPort != 0 {
		if err := bindFlow(fd, cfg, flow); err != nil {
			return err
		}
	}
	_, dst := h.Addrs(uint16(flow))
	_, port := h.Ports(uint16(flow))
	to, err := sockaddr(dst, port, cfg.IfIndex)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, to); err != nil {
		return fmt.Errorf("connect to %v: %w", netip.AddrPortFrom(dst, port), err)
	}
	return nil
}

// A sockopt is an integer option of a socket.
type sockopt struct {
	name          string
	level, option int
	value         int
}

// ip4Options says what the kernel is to write into IPv4 headers. With
// PMTUDISC_PROBE a datagram is never fragmented, and only the interface's own
// MTU limits it, not what the kernel has learned of the path (ip(7)).
func ip4Options(h *frame.Headers, fragment bool) []sockopt {
	discover := unix.IP_PMTUDISC_PROBE
	if fragment {
		discover = unix.IP_PMTUDISC_WANT
	}
	options := []sockopt{
		{"IP_MTU_DISCOVER", unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, discover},
		{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, int(h.TOS)},
		{"SO_BROADCAST", unix.SOL_SOCKET, unix.SO_BROADCAST, 1},
	}
	if h.TTL != 0 {
		options = append(options,
			sockopt{"IP_TTL", unix.IPPROTO_IP, unix.IP_TTL, int(h.TTL)},
			sockopt{"IP_MULTICAST_TTL", unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, int(h.TTL)})
	}
	return options
}

// ip6Options is ip4Options for IPv6 (ipv6(7)).
func ip6Options(h *frame.Headers, fragment bool) []sockopt {
	discover := unix.IPV6_PMTUDISC_PROBE
	if fragment {
		discover = unix.IPV6_PMTUDISC_WANT
	}
	options := []sockopt{
		{"IPV6_MTU_DISCOVER", unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, discover},
		{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, int(h.TOS)},
	}
	if h.TTL != 0 {
		options = append(options,
			sockopt{"IPV6_UNICAST_HOPS", unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, int(h.TTL)},
			sockopt{"IPV6_MULTICAST_HOPS", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, int(h.TTL)})
	}
	return options
}

func setMulticastInterface(fd int, ipv4 bool, ifindex int) error {
	if ipv4 {
		return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(ifindex)})
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, ifindex)
}

// bindFlow gives a socket the source address and port of its flow.
func bindFlow(fd int, cfg *Config, flow int) error {
	h := &cfg.Template.Headers
	src, _ := h.Addrs(uint16(flow))
	port := uint16(0)
	switch {
	case src.IsValid():
	case h.Dst.Unmap().Is4():
		src = netip.IPv4Unspecified()
	default:
		src = netip.IPv6Unspecified()
	}
	if h.SrcPort != 0 {
		port, _ = h.Ports(uint16(flow))
	}
	from, err := sockaddr(src, port, cfg.IfIndex)
	if err != nil {
		return err
	}
	if h.SrcPorts > 0 { // several flows may have the same
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return fmt.Errorf("set SO_REUSEADDR: %w", err)
		}
	}
	if err := unix.Bind(fd, from); err != nil {
		return fmt.Errorf("bind to %v: %w", netip.AddrPortFrom(src, port), err)
	}
	return nil
}

// sockaddr makes an address for the kernel. A link-local one without a zone is
// of the egress interface.
func sockaddr(a netip.Addr, port uint16, ifindex int) (unix.Sockaddr, error) {
	if a = a.Unmap(); a.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}, nil
	}
	sa := &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
	switch zone := a.Zone(); {
	case zone != "":
		index, err := linux.ZoneIndex(zone)
		if err != nil {
			return nil, fmt.Errorf("zone of %v: %w", a, err)
		}
		sa.ZoneId = uint32(index)
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast():
		sa.ZoneId = uint32(ifindex)
	}
	return sa, nil
}
