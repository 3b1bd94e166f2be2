package host

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// RouteTo asks the kernel (RTM_GETROUTE) how it would send to a destination,
// from an address and by a link if these are given (the zero Addr and 0 leave
// them to the kernel). The error gives the kernel's answer and wraps ErrNoRoute
// if the destination can't be reached.
func RouteTo(dst, from netip.Addr, ifindex int) (*Route, error) {
	r, err := routeTo(dst, from, ifindex)
	if err != nil {
		return nil, err
	}
	route := &Route{
		Source:    from,
		Gateway:   gateway(r),
		Local:     r.Type == unix.RTN_LOCAL,
		Broadcast: r.Type == unix.RTN_BROADCAST,
	}
	if !from.IsValid() {
		src, _ := netip.AddrFromSlice(r.Src)
		route.Source = src
	}
	if route.Link, err = LinkByIndex(r.LinkIndex); err != nil {
		return nil, err
	}
	route.MTU = route.Link.MTU
	if r.MTU != 0 {
		route.MTU = min(route.MTU, r.MTU)
	}
	if dst.Is6() {
		route.MTU = min(route.MTU, mtu6(route.Link))
	}
	return route, nil
}

// LinkTo is the index of the link by which RouteTo leaves, which takes far less to
// find out.
func LinkTo(dst, from netip.Addr, ifindex int) (int, error) {
	r, err := routeTo(dst, from, ifindex)
	if err != nil {
		return 0, err
	}
	return r.LinkIndex, nil
}

// routeTo is the kernel's answer, if it is a route.
func routeTo(dst, from netip.Addr, ifindex int) (*netlink.Route, error) {
	opts := &netlink.RouteGetOptions{OifIndex: ifindex}
	if from.IsValid() {
		opts.SrcAddr = from.AsSlice()
	}
	routes, err := netlink.RouteGetWithOptions(dst.AsSlice(), opts)
	if err != nil {
		return nil, routeError(dst, err)
	}
	if len(routes) == 0 {
		return nil, routeError(dst, unix.ENETUNREACH)
	}
	r := &routes[0]
	switch r.Type {
	case unix.RTN_UNREACHABLE:
		return nil, routeError(dst, unix.EHOSTUNREACH)
	case unix.RTN_PROHIBIT:
		return nil, routeError(dst, unix.EACCES)
	case unix.RTN_BLACKHOLE:
		return nil, routeError(dst, unix.EINVAL)
	}
	return r, nil
}

func gateway(r *netlink.Route) netip.Addr {
	ip := r.Gw
	if via, ok := r.Via.(*netlink.Via); ok { // an IPv6 router of an IPv4 route
		ip = via.Addr
	}
	gw, _ := netip.AddrFromSlice(ip)
	return gw
}

// mtu6 is the link's MTU for IPv6, which a router's advertisement may lower.
func mtu6(l *Link) int {
	// Files under /proc/sys/net are those of the reading thread's namespace.
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + l.Name + "/mtu")
	if err != nil {
		return l.MTU
	}
	mtu, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return l.MTU
	}
	return mtu
}

// routeError puts the kernel's answer into words. The four errors are those
// that a route's type gives to a sender (ip-route(8)).
func routeError(dst netip.Addr, err error) error {
	switch {
	case errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("%w to %s: network is unreachable", ErrNoRoute, dst)
	case errors.Is(err, unix.EHOSTUNREACH):
		return fmt.Errorf("%w to %s: its route is of type unreachable", ErrNoRoute, dst)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w to %s: its route is of type prohibit", ErrNoRoute, dst)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w to %s: its route is of type blackhole", ErrNoRoute, dst)
	}
	return fmt.Errorf("route to %s: %w", dst, err)
}
