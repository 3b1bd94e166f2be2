package tcp

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"

	"linerate/internal/linux"
)

// Dial connects to remote from local, whose zero value leaves address and port to
// the kernel. The options are set before the handshake, which decides the scale
// of the window and the MSS. took is how long the handshake lasted, from the
// first SYN to the moment the kernel reported the connection. The caller closes
// the connection.
func Dial(ctx context.Context, local, remote netip.AddrPort, o Options) (conn *net.TCPConn, took time.Duration, err error) {
	var begun int64
	d := net.Dialer{
		KeepAlive: -1, // a test has its own deadlines, and probes would count
		Control: func(_, _ string, raw syscall.RawConn) error {
			err := onRaw(raw, o.set)
			begun = linux.Monotonic()
			return err
		},
	}
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(unmapped(local))
	}
	remote = unmapped(remote)
	c, err := d.DialContext(ctx, "tcp", remote.String())
	if err != nil {
		return nil, 0, err
	}
	took = time.Duration(linux.Monotonic() - begun)
	conn = c.(*net.TCPConn)
	if err := o.settle(conn); err != nil {
		conn.Close()
		return nil, 0, err
	}
	return conn, took, nil
}

// Listen waits for connections at local with the options set, which those it
// accepts inherit; Apply them to each nevertheless for what Go resets. On IPv6's
// unspecified address it accepts both families, unless IPv6Only is set. The caller closes the listener.
func Listen(ctx context.Context, local netip.AddrPort, o Options) (*net.TCPListener, error) {
	c := net.ListenConfig{
		KeepAlive: -1,
		Control:   func(_, _ string, raw syscall.RawConn) error { return onRaw(raw, o.set) },
	}
	c.SetMultipathTCP(false) // a test is of one path
	local = unmapped(local)
	network := "tcp"
	switch {
	case local.Addr().Is4():
		network = "tcp4" // or 0.0.0.0 would be both families too
	case o.IPv6Only:
		network = "tcp6"
	}
	l, err := c.Listen(ctx, network, local.String())
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

// unmapped is an address without IPv4 in IPv6's clothes.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
