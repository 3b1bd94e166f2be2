package plan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"linerate/internal/host"
)

// A destination is where a test goes, and how the kernel would get there.
type destination struct {
	addr  netip.Addr // with a zone if it is of one link only
	port  uint16
	from  netip.Addr // what --bind asked for, with a zone likewise; else invalid
	bound bool       // an interface was asked for
	route *host.Route
}

// bottleneck names what has the route's MTU.
func (d *destination) bottleneck() string {
	if d.route.MTU < d.route.Link.MTU {
		return "the path to " + d.addr.String()
	}
	return d.route.Link.Name
}

// reach finds the destination and the kernel's route to it from where was asked
// for. Of several addresses of a name it takes the first that has a route.
func (r *SendRequest) reach(ctx context.Context) (*destination, error) {
	name, port, err := splitTarget(r.Host)
	if err != nil {
		return nil, &UsageError{"", err.Error()}
	}
	if name == "" {
		return nil, &UsageError{"", fmt.Sprintf("%q names no host; write HOST or HOST:PORT", r.Host)}
	}
	if port == 0 {
		port = uint16(r.Port)
	}
	only, err := onlyFamily(r.V4, r.V6)
	if err != nil {
		return nil, err
	}
	from, err := findSource(r.Bind, r.Iface)
	if err != nil {
		return nil, err
	}
	if from.addr.IsValid() {
		if !only.allows(from.addr) {
			return nil, &UsageError{"bind", fmt.Sprintf("%s is not an %v address", from.addr, only)}
		}
		only = familyOf(from.addr)
	}
	if src := r.Srcs; src.N > 0 {
		if !only.allows(src.First) {
			return nil, &UsageError{"src", fmt.Sprintf("%s is not an %v address", src.First, only)}
		}
		only = familyOf(src.First)
	}
	addrs, err := resolve(ctx, name, only)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range addrs {
		to, err := from.to(addr)
		if err == nil {
			to.port = port
			return to, r.sharesLink(from, to)
		}
		errs = append(errs, err)
	}
	return nil, errs[0]
}

// to finds the route to one address.
func (s source) to(addr netip.Addr) (*destination, error) {
	if addr.IsUnspecified() {
		return nil, &UsageError{"", fmt.Sprintf("%s is no destination", addr)}
	}
	d := &destination{addr: addr, from: s.addr, bound: s.link != nil}
	if zone := addr.Zone(); zone != "" {
		if err := s.on("iface", zone); err != nil {
			return nil, err
		}
	}
	ifindex := 0
	switch {
	case s.link == nil && scoped(addr):
		return nil, linkLocalError("", addr)
	case s.link != nil:
		if !s.link.Up {
			return nil, notRunning(s.link)
		}
		if addr.IsLoopback() && !s.link.Loopback {
			return nil, &UsageError{"iface", fmt.Sprintf("%s does not lead to %s, which is this host itself", s.link.Name, addr)}
		}
		ifindex = s.link.Index
	}
	var err error
	d.route, err = host.RouteTo(addr, s.addr, ifindex)
	switch {
	case errors.Is(err, host.ErrNoRoute):
		return nil, &PeerError{err}
	case err != nil:
		return nil, &HostError{err}
	case d.route.Link.Loopback && !d.route.Local && s.link != nil:
		return nil, &UsageError{"iface", fmt.Sprintf("%s leads to this host alone, not to %s", s.link.Name, addr)}
	case !d.route.Link.Running():
		return nil, notRunning(d.route.Link)
	case !d.route.Source.IsValid() || d.route.Source.IsUnspecified():
		return nil, &HostError{fmt.Errorf("%s has no %v address to send to %s from: give it one (ip address add)",
			d.route.Link.Name, familyOf(addr), addr)}
	}
	d.addr, d.from = inZone(addr, s.link), inZone(s.addr, s.link)
	return d, nil
}

// inZone gives an address its link's name as zone if it needs one, and no zone
// otherwise.
func inZone(a netip.Addr, link *host.Link) netip.Addr {
	if scoped(a) {
		return a.WithZone(link.Name)
	}
	return a.WithZone("")
}

// notRunning says why nothing can leave by a link.
func notRunning(link *host.Link) error {
	if !link.Up {
		return &HostError{fmt.Errorf("%s is down: ip link set dev %s up", link.Name, link.Name)}
	}
	return &HostError{fmt.Errorf("%s has no carrier: nothing is plugged in, or the other end is down", link.Name)}
}
