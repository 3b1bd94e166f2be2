//go:build !linux

package host

import (
	"fmt"
	"net"
	"net/netip"
)

// RouteTo finds how the kernel would send to a destination by connecting a UDP
// socket, which sends nothing: the source and its link. A router on the way
// stays unknown. The error wraps ErrNoRoute if the destination can't be reached.
func RouteTo(dst, from netip.Addr, ifindex int) (*Route, error) {
	local := net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	if !from.IsValid() {
		local = nil
	}
	conn, err := net.DialUDP("udp", local, net.UDPAddrFromAddrPort(netip.AddrPortFrom(dst, 9)))
	if err != nil {
		return nil, fmt.Errorf("%w to %s: %w", ErrNoRoute, dst, err)
	}
	defer conn.Close()
	src := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	r := &Route{Source: src.WithZone(""), Local: src.WithZone("") == dst.WithZone("")}
	if ifindex != 0 {
		r.Link, err = LinkByIndex(ifindex)
	} else {
		r.Link, err = LinkByAddr(src)
	}
	if err != nil {
		return nil, err
	}
	r.MTU = r.Link.MTU
	return r, nil
}

// LinkTo is the index of the link by which RouteTo leaves.
func LinkTo(dst, from netip.Addr, ifindex int) (int, error) {
	r, err := RouteTo(dst, from, ifindex)
	if err != nil {
		return 0, err
	}
	return r.Link.Index, nil
}
