package host

import (
	"fmt"
	"net"
	"net/netip"
)

// A Route is what the kernel would do with a packet to one destination.
type Route struct {
	Link      *Link      // where it leaves
	Source    netip.Addr // the address that it would leave from
	Gateway   netip.Addr // the router that it goes to; invalid where the destination is on the link
	MTU       int        // most IP bytes that pass unfragmented, as far as this host knows
	Local     bool       // the destination is this host
	Broadcast bool       // the destination is a subnet's broadcast address
}

// LinkByAddr returns the link that holds an address of this host. The error
// wraps ErrNoAddress if none does.
func LinkByAddr(addr netip.Addr) (*Link, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	for _, ifi := range ifs {
		if addr.Zone() != "" && addr.Zone() != ifi.Name {
			continue
		}
		// All of 127.0.0.0/8 is local, though one address of it is listed.
		if addr.IsLoopback() && ifi.Flags&net.FlagLoopback != 0 {
			return LinkByIndex(ifi.Index)
		}
		held, err := holds(&ifi, addr.WithZone(""))
		if err != nil {
			return nil, err
		}
		if held {
			return LinkByIndex(ifi.Index)
		}
	}
	return nil, fmt.Errorf("%s %w", addr, ErrNoAddress)
}

// Holds reports whether an address is one of the link's own.
func (l *Link) Holds(addr netip.Addr) (bool, error) {
	ifi, err := net.InterfaceByIndex(l.Index)
	if err != nil {
		return false, fmt.Errorf("interface %s: %w", l.Name, err)
	}
	return holds(ifi, addr.WithZone(""))
}

func holds(ifi *net.Interface, addr netip.Addr) (bool, error) {
	addrs, err := ifi.Addrs()
	if err != nil {
		return false, fmt.Errorf("addresses of %s: %w", ifi.Name, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
			return true, nil
		}
	}
	return false, nil
}
