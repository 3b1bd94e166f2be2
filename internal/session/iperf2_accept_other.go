//go:build !linux

package session

import (
	"context"
	"net"
	"net/netip"
)

// dial opens a socket at the listener's own address local, connected to a client. What
// bound is for is Linux's.
func (l *IPerf2Listener) dial(ctx context.Context, local, to netip.AddrPort, _ func() error) (net.Conn, error) {
	d := net.Dialer{Control: shared(l.device, l.window), LocalAddr: net.UDPAddrFromAddrPort(local)}
	return d.DialContext(ctx, "udp", to.String())
}

// receiveNow finds nothing: elsewhere what comes to a socket before it is
// connected stays there.
func receiveNow(*net.UDPConn, []byte) (n int, from netip.AddrPort, err error) { return 0, from, nil }

// waits is for Linux, too.
func waits(*net.UDPConn) bool { return false }
