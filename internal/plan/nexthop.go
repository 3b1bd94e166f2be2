package plan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/host"
)

// neighbourPatience is how long a neighbour may take to answer: the kernel asks
// three times, a second apart.
const neighbourPatience = 3500 * time.Millisecond

// nextHop is the MAC address that a frame to a destination goes to.
func nextHop(ctx context.Context, dst netip.Addr, route *host.Route) (net.HardwareAddr, error) {
	switch {
	case dst.IsMulticast():
		return multicastMAC(dst), nil
	case route.Broadcast:
		return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nil
	}
	hop := dst
	if route.Gateway.IsValid() {
		hop = route.Gateway
	}
	ctx, cancel := context.WithTimeout(ctx, neighbourPatience)
	defer cancel()
	mac, err := host.NeighbourMAC(ctx, route.Link, hop)
	switch {
	case errors.Is(err, host.ErrNoNeighbour):
		return nil, &PeerError{fmt.Errorf("%w; is it up?", err)}
	case err != nil && ctx.Err() == nil:
		return nil, &HostError{err}
	}
	return mac, err
}

// multicastMAC maps a group to its Ethernet address (RFC 1112 section 6.4,
// RFC 2464 section 7).
func multicastMAC(group netip.Addr) net.HardwareAddr {
	b := group.As16()
	if group.Is4() {
		return net.HardwareAddr{0x01, 0x00, 0x5e, b[13] & 0x7f, b[14], b[15]}
	}
	return net.HardwareAddr{0x33, 0x33, b[12], b[13], b[14], b[15]}
}
