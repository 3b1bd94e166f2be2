package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"linerate/internal/echo"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// reflector is where probes come back from, which a flag asked for: the server told
// the port.
func (c *client) reflector(flag string) (netip.AddrPort, error) {
	switch {
	case c.stock():
		return netip.AddrPort{}, &plan.UsageError{Flag: flag, Msg: "the server is a stock iperf3, which sends nothing back: run linerate serve there"}
	case c.greeting.Reflector == 0:
		return netip.AddrPort{}, &plan.UsageError{Flag: flag, Msg: fmt.Sprintf("the server (linerate %s) sends nothing back: run a newer one there", c.greeting.Version)}
	}
	return netip.AddrPortFrom(c.plan.Peer.Addr(), uint16(c.greeting.Reflector)), nil
}

// dialReflector opens a UDP socket to it.
func (c *client) dialReflector(ctx context.Context, to netip.AddrPort) error {
	d := net.Dialer{
		LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.plan.Source, 0)),
		Control:   func(_, _ string, raw syscall.RawConn) error { return linux.BindToDevice(raw, c.plan.Device) },
	}
	conn, err := d.DialContext(ctx, "udp", to.String())
	if err != nil {
		return fmt.Errorf("socket for what comes back: %w", err)
	}
	c.trips = conn.(*net.UDPConn)
	return setTOS(c.trips, c.plan.Params.TOS)
}

// probe sends probes or requests beside the load, once what is omitted is over, until
// the function that it returns is called. That one adds to the report what became of
// them.
func (c *client) probe() (finish func(patience time.Duration), err error) {
	if c.requests != nil {
		return c.bounceBeside()
	}
	if c.trips == nil {
		return func(time.Duration) {}, nil
	}
	every := time.Second / time.Duration(c.plan.Request.RTT)
	p, err := echo.Start(c.trips, time.Now().Add(c.plan.Request.Omit), every, c.plan.Ask.Reflect)
	if err != nil {
		return nil, fmt.Errorf("round trips: %w", err)
	}
	return func(patience time.Duration) {
		a := p.Finish(patience)
		c.rep.RTTNS = &result.RoundTrips{Sent: a.Sent, Lost: a.Lost, Times: times(a.Times, c.plan.Request.Histogram)}
		if a.Sent > 0 && a.Lost == a.Sent {
			c.rep.Warnings = append(c.rep.Warnings, noneBack(c.greeting.Reflector))
		}
	}, nil
}

// openReflector opens the socket that sends a client's probes back, or answers its
// requests, at a port of its own: the load's would hand them to whatever counts the load.
func (s *server) openReflector(ctx context.Context) (err error) {
	if s.ask == nil || len(s.ask.Reflect) == 0 {
		return nil
	}
	ctx, s.stopReflector = context.WithCancel(ctx)
	if s.ask.Bounce > 0 {
		s.reflector, err = s.respond(ctx)
		return err
	}
	if len(s.ask.Reflect) != echo.TokenSize {
		return fmt.Errorf("round trips: a token of %d bytes, want %d", len(s.ask.Reflect), echo.TokenSize)
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Local.Addr(), 0)))
	if err != nil {
		return fmt.Errorf("round trips: %w", err)
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	s.reflector = conn.LocalAddr().(*net.UDPAddr).Port
	r, err := echo.NewReflector(conn, s.Remote.Addr(), s.ask.Reflect)
	if err = errors.Join(err, setTOS(conn, s.Params.TOS)); err != nil {
		return fmt.Errorf("round trips: %w", err)
	}
	go r.Serve()
	return nil
}

// setTOS lets what leaves by a socket wait in the same queues as the load.
func setTOS(conn *net.UDPConn, tos int) error {
	if tos == 0 {
		return nil
	}
	if conn.LocalAddr().(*net.UDPAddr).IP.To4() != nil {
		return ipv4.NewConn(conn).SetTOS(tos)
	}
	return ipv6.NewConn(conn).SetTrafficClass(tos)
}
