package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/internal/units"
)

// streamPatience is how long a client may take to open its streams.
const streamPatience = 15 * time.Second

// prepare plans the test, tells the client so, and opens all that it needs.
func (s *server) prepare(ctx context.Context) error {
	config := result.Config{Protocol: "udp", Peer: "iperf3", Direction: "forward", Source: s.Local.Addr().String(), Destination: s.Remote.String()}
	switch {
	case s.Params.Reverse:
		config.Direction = "reverse"
	case s.Params.Bidirectional:
		config.Direction = "bidir"
	}
	if s.ask != nil {
		config.Peer = "linerate"
	}
	if rate := s.Params.Bandwidth * int64(s.Params.Parallel); rate > 0 {
		config.RateBps, config.Layer = float64(rate), units.L4.String()
	}
	if d := s.duration(); d > 0 {
		config.DurationS, config.OmitS = (d - s.omit()).Seconds(), s.omit().Seconds()
	}
	config.Bytes, config.TOS = s.Params.Num, s.Params.TOS
	s.rep = newReport("serve", s.Version, config, nil)
	var legs func(context.Context) error
	var err error
	if s.Params.UDP {
		legs, err = s.planUDP(ctx)
	} else {
		s.rep.Config.Protocol = "tcp"
		legs = s.legsTCP
	}
	if err != nil {
		s.Conn.Refuse(codeOf(err), 0)
		return err
	}
	if err := s.openReflector(ctx); err != nil {
		s.Conn.Refuse(iperf3.BadParams, 0)
		return err
	}
	if s.ask != nil {
		g := iperf3.Greeting{Version: s.Version, Warnings: s.rep.Warnings, Reflector: s.reflector}
		s.warned = len(s.rep.Warnings)
		_, out := s.counts()
		if g.Receive = s.rep.Config; out > 0 {
			g.Send = s.rep.Config
		}
		if err := s.Conn.WriteExtra(g); err != nil {
			return controlError(err)
		}
	}
	s.hear(messagePatience)
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := legs(ctx); err != nil {
		s.Conn.Refuse(iperf3.BadStream, 0)
		return err
	}
	s.rep.Streams = s.streams.describe()
	ifindex := 0
	if link, err := plan.LinkOf(s.Local.Addr()); err == nil {
		ifindex = link.Index
	}
	s.conduct, err = newConductor(s.rep, s.o, s.role(), ifindex, flows(s.directions())...)
	return err
}

// hear starts to hear the client. A linerate may not be silent for long; a stock
// client says nothing until the test is over.
func (s *server) hear(patience time.Duration) {
	if s.ask == nil {
		patience = 0
	}
	s.control = hear(s.Conn, patience, func(*iperf3.News) {})
}

// open takes the client's streams, unless the client hangs up.
func (s *server) open(ctx context.Context) error {
	attentive, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	go func(c *control) {
		select {
		case <-c.heard:
			gone(errHungUp)
		case <-attentive.Done():
		}
	}(s.control)
	if err := s.expect(attentive); err != nil {
		return s.unopened(attentive, iperf3.ServerBusy, err)
	}
	if err := s.Conn.WriteState(iperf3.CreateStreams); err != nil {
		return controlError(err)
	}
	if err := s.accept(attentive); err != nil {
		return s.unopened(attentive, iperf3.BadStream, err)
	}
	gone(nil)
	if err := s.ready(); err != nil {
		return err
	}
	s.Doorman.Quiet()
	return nil
}

var errHungUp = errors.New("the client gave up before all its streams were open")

// unopened tells the client why its streams aren't open.
func (s *server) unopened(ctx context.Context, code iperf3.Code, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		_ = s.Conn.Refuse(code, 0) // or it is gone
		return err
	case errors.Is(cause, errHungUp):
		return cause
	default:
		return s.breakOff(cause)
	}
}

// ready waits until a linerate has seen the answers to all its hellos, and has all
// open that it receives by.
func (s *server) ready() error {
	if s.ask == nil {
		return nil
	}
	if err := s.Conn.WriteState(iperf3.TestStart); err != nil {
		return controlError(err)
	}
	if err := s.control.due(iperf3.TestStart); err != nil {
		return err
	}
	s.hear(lifeless)
	return nil
}

// codeOf is iperf3's number for why a test can't be.
func codeOf(err error) iperf3.Code {
	var usage *plan.UsageError
	if errors.As(err, &usage) && (usage.Flag == "payload" || usage.Flag == "frame") {
		return iperf3.BadBlockUDP
	}
	return iperf3.BadParams
}

// expect gets ready for the client's streams.
func (s *server) expect(ctx context.Context) error {
	if !s.Params.UDP {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	in, out := s.counts()
	return s.Doorman.Expect(ctx, in+out)
}

// accept takes the client's streams: those that it sends by come first.
func (s *server) accept(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	in, out := s.counts()
	s.streams.out, s.streams.server = in, true
	if !s.Params.UDP {
		return s.acceptTCP(ctx, in+out)
	}
	for i := range in + out {
		conn, err := s.Doorman.UDP(ctx)
		if err != nil {
			return fmt.Errorf("stream %d: %w", iperf3.StreamID(i), err)
		}
		s.streams.udp = append(s.streams.udp, conn)
	}
	return nil
}

func (s *server) acceptTCP(ctx context.Context, n int) (err error) {
	if s.streams.tcp, err = s.Doorman.TCP(ctx, n); err != nil {
		return err
	}
	for i, conn := range s.streams.tcp {
		if err := tcp.Apply(conn, s.options()); err != nil {
			return fmt.Errorf("stream %d: %w", iperf3.StreamID(i), err)
		}
	}
	return nil
}
