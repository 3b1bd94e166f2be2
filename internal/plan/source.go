package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"linerate/internal/host"
)

// A source is where a test was asked to leave from: an address, an interface,
// both or neither.
type source struct {
	addr netip.Addr // without zone; invalid if none was given
	link *host.Link // nil if none was given
}

// findSource reads --iface and --bind, which takes ADDRESS, ADDRESS%INTERFACE
// or INTERFACE. The address is one of this host's.
func findSource(bind, iface string) (source, error) {
	var s source
	if iface != "" {
		if err := s.on("iface", iface); err != nil {
			return s, err
		}
	}
	if bind == "" {
		return s, nil
	}
	text, zone, zoned := strings.Cut(bind, "%")
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil && zoned:
		return s, &UsageError{"bind", fmt.Sprintf("%q is not an address; write ADDRESS, ADDRESS%%INTERFACE or INTERFACE", text)}
	case err != nil:
		return s, s.on("bind", bind)
	case addr.IsUnspecified():
		return s, &UsageError{"bind", fmt.Sprintf("%s is no source address; leave it out to let the routing table choose", addr)}
	case zoned:
		if err := s.on("bind", zone); err != nil {
			return s, err
		}
	}
	s.addr = addr.Unmap()
	_, err = s.holder("bind")
	return s, err
}

// on adds an interface, by its name or its index, and refuses a second one.
func (s *source) on(flag, name string) error {
	link, err := linkNamed(name)
	if err != nil {
		return err
	}
	if s.link != nil && s.link.Index != link.Index {
		return &UsageError{flag, fmt.Sprintf("%s contradicts %s, which was asked for too", link.Name, s.link.Name)}
	}
	s.link = link
	return nil
}

// linkNamed finds an interface by its name, or as a zone may have it by its
// index (RFC 4007 section 11.2).
func linkNamed(name string) (*host.Link, error) {
	var link *host.Link
	index, err := strconv.Atoi(name)
	if err == nil {
		link, err = host.LinkByIndex(index)
	} else {
		link, err = host.LinkByName(name)
	}
	if err != nil {
		return nil, &HostError{err}
	}
	return link, nil
}

// holder is the link that has the address, and it must be the one that was
// named, if any was. The flag is the one that the address came by.
func (s *source) holder(flag string) (*host.Link, error) {
	if s.link == nil && scoped(s.addr) {
		return nil, linkLocalError(flag, s.addr)
	}
	if s.link != nil {
		held, err := s.link.Holds(s.addr)
		if err != nil {
			return nil, &HostError{err}
		}
		if held {
			return s.link, nil
		}
	}
	holder, err := host.LinkByAddr(s.addr)
	if err != nil {
		return nil, &HostError{err}
	}
	// An address on lo may be used by any interface.
	if s.link != nil && !holder.Loopback {
		return nil, &UsageError{flag, fmt.Sprintf("%s is an address of %s, not of %s", s.addr, holder.Name, s.link.Name)}
	}
	return holder, nil
}

// scoped reports whether an address means something on one link only
// (RFC 4007).
func scoped(a netip.Addr) bool {
	return a.Is6() && (a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsInterfaceLocalMulticast())
}

// linkLocalError proposes what to write for a link-local address without a
// zone: which link is meant is never guessed.
func linkLocalError(flag string, addr netip.Addr) error {
	names, err := host.Names()
	if err != nil {
		return &HostError{err}
	}
	example := names[len(names)-1]
	return &UsageError{flag, fmt.Sprintf("%s is link-local: say on which interface, as %s%%%s (there are: %s)",
		addr, addr, example, strings.Join(names, ", "))}
}
