package plan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// resolvePatience is how long a name may take to resolve.
const resolvePatience = 3 * time.Second

// splitTarget parses HOST or HOST:PORT. An IPv6 address with a port stands in
// brackets: [fe80::1%eth0]:5201. The port is 0 if there is none, the host empty
// if there is only a port.
func splitTarget(s string) (host string, port uint16, err error) {
	if _, err := netip.ParseAddr(s); err == nil {
		return s, 0, nil
	}
	host, text, hasPort := strings.Cut(s, ":")
	if inner, bracketed := strings.CutPrefix(s, "["); bracketed {
		var rest string
		if host, rest, bracketed = strings.Cut(inner, "]"); !bracketed {
			return "", 0, fmt.Errorf("%q lacks the closing ]; write [ADDRESS]:PORT", s)
		}
		if _, err := netip.ParseAddr(host); err != nil {
			return "", 0, fmt.Errorf("%q: in brackets stands an IPv6 address, as [fd00::1]:5201", s)
		}
		if text, hasPort = strings.CutPrefix(rest, ":"); !hasPort && rest != "" {
			return "", 0, fmt.Errorf("%q: after ] comes :PORT", s)
		}
	}
	if !hasPort {
		return host, 0, nil
	}
	if strings.Contains(text, ":") {
		return "", 0, fmt.Errorf("%q is no IPv6 address; with a port write [ADDRESS]:PORT", s)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q: a port is a number from 1 to 65535", s)
	}
	return host, uint16(n), nil
}

// A family says which versions of IP may be used.
type family uint8

const (
	anyIP family = iota
	ipv4
	ipv6
)

// onlyFamily is what -4 and -6 say.
func onlyFamily(v4, v6 bool) (family, error) {
	switch {
	case v4 && v6:
		return 0, &UsageError{"ipv4", "contradicts --ipv6"}
	case v4:
		return ipv4, nil
	case v6:
		return ipv6, nil
	}
	return anyIP, nil
}

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return ipv4
	}
	return ipv6
}

func (f family) allows(a netip.Addr) bool { return f == anyIP || f == familyOf(a) }

// String names the family: IPv4, IPv6, or IP for either.
func (f family) String() string { return [...]string{anyIP: "IP", ipv4: "IPv4", ipv6: "IPv6"}[f] }

// network is the resolver's name of the family.
func (f family) network() string { return [...]string{anyIP: "ip", ipv4: "ip4", ipv6: "ip6"}[f] }

// resolve finds the addresses of a host, those that the resolver prefers first.
// A literal address is returned as it is, with its zone.
func resolve(ctx context.Context, name string, f family) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		if a = a.Unmap(); !f.allows(a) {
			return nil, &UsageError{"", fmt.Sprintf("%s is not an %v address", name, f)}
		}
		return []netip.Addr{a}, nil
	}
	lookup, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(lookup, f.network(), name)
	if err != nil {
		return nil, resolveError(ctx, lookup, name, err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

func resolveError(ctx, lookup context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if lookup.Err() != nil {
		return &PeerError{fmt.Errorf("%s did not resolve within %v", name, resolvePatience)}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return &PeerError{fmt.Errorf("%s did not resolve: %s", name, dns.Err)}
	}
	return &PeerError{fmt.Errorf("%s did not resolve: %w", name, err)}
}
