package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"linerate/internal/echo"
	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// bounce answers a client's requests until it says that it is done.
func (s *server) bounce(ctx context.Context) error {
	config := result.Config{
		Protocol: "tcp", Peer: "linerate", Direction: "forward", Source: s.Local.Addr().String(), Destination: s.Remote.String(),
		PayloadBytes: s.ask.Bounce,
	}
	if s.Params.UDP {
		config.Protocol = "udp"
	}
	rep := newReport("serve", s.Version, config, nil)
	running, stop := context.WithCancel(ctx)
	defer stop()
	if s.MaxTime > 0 {
		running, stop = context.WithTimeoutCause(ctx, s.MaxTime, errTooLong)
		defer stop()
	}
	port, err := s.respond(running)
	if err != nil {
		s.Conn.Refuse(iperf3.BadParams, 0)
		return err
	}
	if err := s.Conn.WriteExtra(iperf3.Greeting{Version: s.Version, Reflector: port}); err != nil {
		return controlError(err)
	}
	if err := s.Conn.WriteState(iperf3.CreateStreams); err != nil {
		return controlError(err)
	}
	s.rep = rep
	s.o.Started(rep)
	defer context.AfterFunc(running, func() {
		if context.Cause(running) == errTooLong {
			s.Conn.Refuse(iperf3.OverMaxDuration, 0)
		}
	})()
	err = expect(s.Conn, iperf3.TestEnd, func(n *iperf3.News) { rep.BounceNS = n.Bounces })
	if err != nil && context.Cause(running) == errTooLong {
		return errTooLong
	}
	return err
}

// respond answers requests until ctx ends, at a port that it returns.
func (s *server) respond(ctx context.Context) (port int, err error) {
	if err := plan.CheckBounce(!s.Params.UDP, s.ask.Bounce); err != nil {
		return 0, err
	}
	if len(s.ask.Reflect) != echo.TokenSize {
		return 0, fmt.Errorf("requests: a token of %d bytes, want %d", len(s.ask.Reflect), echo.TokenSize)
	}
	at := netip.AddrPortFrom(s.Local.Addr(), 0)
	if !s.Params.UDP {
		l, err := tcp.Listen(ctx, at, tcp.Options{NoDelay: true, TOS: uint8(s.Params.TOS)})
		if err != nil {
			return 0, fmt.Errorf("requests: %w", err)
		}
		go echo.Respond(ctx, l, s.Remote.Addr(), s.ask.Reflect, s.ask.Bounce)
		return l.Addr().(*net.TCPAddr).Port, nil
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return 0, fmt.Errorf("requests: %w", err)
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	r, err := echo.NewResponder(conn, s.Remote.Addr(), s.ask.Reflect, s.ask.Bounce)
	if err = errors.Join(err, setTOS(conn, s.Params.TOS)); err != nil {
		return 0, fmt.Errorf("requests: %w", err)
	}
	go r.Serve()
	return conn.LocalAddr().(*net.UDPAddr).Port, nil
}
