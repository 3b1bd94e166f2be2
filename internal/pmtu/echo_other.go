//go:build !linux

package pmtu

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
)

// An Echo sends ICMP echo requests; only Linux has one.
type Echo struct{}

// Open says that there is none here.
func Open(netip.Addr, string) (*Echo, error) {
	return nil, fmt.Errorf("ICMP echo: %w here: it needs Linux", errors.ErrUnsupported)
}

// Reflections sends probes of UDP; only Linux has them.
type Reflections struct{ *Echo }

// OpenReflections says that there are none here.
func OpenReflections(netip.AddrPort, string) (*Reflections, error) {
	return nil, fmt.Errorf("probes of UDP: %w here: they need Linux", errors.ErrUnsupported)
}

// Send tries one probe.
func (*Echo) Send(context.Context, Probe) (Answer, error) { return Answer{}, errors.ErrUnsupported }

// PathMTU is what the kernel knows of the path.
func (*Echo) PathMTU() (int, error) { return 0, errors.ErrUnsupported }

// Close closes the socket.
func (*Echo) Close() error { return nil }
