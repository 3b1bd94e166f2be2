//go:build !linux

package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
)

// NeighbourMAC is known on Linux alone: elsewhere its error wraps errors.ErrUnsupported.
func NeighbourMAC(_ context.Context, _ *Link, addr netip.Addr) (net.HardwareAddr, error) {
	return nil, fmt.Errorf("neighbour %s on %s: %w", addr, runtime.GOOS, errors.ErrUnsupported)
}
