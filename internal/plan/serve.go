package plan

import (
	"context"
	"net/netip"
)

// A ServeRequest is what was asked of serve. Zero values stand for what was not
// given.
type ServeRequest struct {
	Addr   string // ADDR, :PORT or ADDR:PORT; empty or * for any address
	Port   int    // where Addr names none
	V4, V6 bool
	Iface  string
}

// ResolveServe finds out where to wait for tests, and which interface to keep to;
// empty for any. The errors are those of ResolveReceive.
func ResolveServe(ctx context.Context, r ServeRequest) (at netip.AddrPort, device string, err error) {
	recv := RecvRequest{Addr: r.Addr, Port: r.Port, V4: r.V4, V6: r.V6, Iface: r.Iface}
	l, err := recv.listener(ctx)
	if err != nil {
		return at, "", err
	}
	if l.named != nil {
		device = l.named.Name
	}
	return l.local, device, nil
}
