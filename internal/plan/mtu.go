package plan

import (
	"context"
	"net/netip"
)

// An MTURequest is what was asked of mtu.
type MTURequest struct {
	Host   string
	V4, V6 bool
	Bind   string
	Iface  string
}

// A Reach is how this host reaches another.
type Reach struct {
	Addr  netip.Addr // with a zone if it is of one link only
	Iface string     // that the route leaves by
	MTU   int        // of that interface
}

// ResolveReach finds the way to a host. The errors are UsageError, HostError,
// PeerError, or that of ctx.
func ResolveReach(ctx context.Context, r MTURequest) (*Reach, error) {
	to, err := (&SendRequest{Host: r.Host, V4: r.V4, V6: r.V6, Bind: r.Bind, Iface: r.Iface}).reach(ctx)
	if err != nil {
		return nil, err
	}
	return &Reach{Addr: to.addr, Iface: to.route.Link.Name, MTU: to.route.Link.MTU}, nil
}
