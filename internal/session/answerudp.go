package session

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// planUDP plans what needs no streams yet, and returns what opens the legs once
// they are there.
func (s *server) planUDP(ctx context.Context) (func(context.Context) error, error) {
	in, out := s.counts()
	var receive *plan.Receive
	if in > 0 {
		r, err := s.receiveRequest()
		if err != nil {
			return nil, err
		}
		if receive, err = plan.ResolveReceive(ctx, r); err != nil {
			return nil, err
		}
		receive.Interval, receive.Omit, receive.Warmup = s.interval(), s.omit(), s.warms()
		s.rep.Config.RX = receive.Report.RX
	}
	if out > 0 {
		r, err := s.sendRequest(1)
		if err != nil {
			return nil, err
		}
		trial, err := plan.ResolveSend(ctx, r)
		if err != nil {
			return nil, err
		}
		config := trial.Report
		config.Protocol, config.Peer, config.Direction, config.RX = "udp", s.rep.Config.Peer, s.rep.Config.Direction, s.rep.Config.RX
		config.Destination = s.rep.Config.Destination // the ports of its streams are not known yet
		s.rep.Config = &config
		s.rep.Warnings = append(s.rep.Warnings, trial.Warnings...)
	}
	s.rep.Config.Format, s.rep.Config.Flows, s.rep.Config.PayloadBytes = s.format().String(), s.Params.Parallel, s.Params.Len
	return func(ctx context.Context) error { return s.legsUDP(ctx, receive, in) }, nil
}

func (s *server) legsUDP(ctx context.Context, receive *plan.Receive, in int) error {
	if receive != nil {
		receive.Config.Sockets = s.streams.udp[:in]
		receive.Streams = sources(receive.Config.Sockets)
		r, err := openReceiving(receive)
		if err != nil {
			return err
		}
		s.in = r
		r.describe(s.rep.Config)
	}
	if in == len(s.streams.udp) {
		return nil
	}
	out := s.streams.udp[in:]
	r, err := s.sendRequest(remotePort(out[0]))
	if err != nil {
		return err
	}
	p, err := plan.ResolveSend(ctx, r)
	if err != nil {
		return err
	}
	p.Interval, p.Omit = s.interval(), s.omit()
	p.Config.Sockets, p.PerFlow = out, len(p.Schedule.Sizes) == 1
	leg, err := openSending(p)
	if err != nil {
		return err
	}
	s.out = leg
	return nil
}

// format is the payload header of the test's datagrams.
func (s *server) format() probe.Format {
	switch {
	case s.ask != nil:
		return probe.Native
	case s.Params.Counters64:
		return probe.IPerf3Wide
	}
	return probe.IPerf3
}

// warms reports whether what is omitted has flows of its own, as between linerates.
func (s *server) warms() bool { return s.ask != nil && s.omit() > 0 }

// ownWindow is the socket buffer of a test that asks for none.
const ownWindow = 4 << 20

func (s *server) window() int {
	if s.Params.Window > 0 {
		return s.Params.Window
	}
	return ownWindow
}

func (s *server) receiveRequest() (plan.RecvRequest, error) {
	pattern, verify, err := s.pattern()
	r := plan.RecvRequest{
		Addr: s.Local.String(), Window: s.window(), Format: s.format(), Verify: verify != nil, Pattern: pattern, Drain: plan.TestDrain,
	}
	if s.ask != nil {
		r.RX, r.Histogram = s.ask.RX, s.ask.Histogram
	}
	return r, err
}

// sendRequest is what the client asks this end to send, from this port to the
// client's, of which the first is given.
func (s *server) sendRequest(port uint16) (plan.SendRequest, error) {
	pattern, _, err := s.pattern()
	if err != nil {
		return plan.SendRequest{}, err
	}
	r := plan.SendRequest{
		Host: s.Remote.Addr().String(), Port: int(port), Bind: s.Local.Addr().String(),
		SrcPort: s.Local.Port(), SrcPorts: 1, DstPorts: s.Params.Parallel, Flows: s.Params.Parallel,
		Format: s.format(), Pattern: pattern, Window: s.window(), TOS: uint8(s.Params.TOS), Payload: s.Params.Len,
		Warmup: s.warms(), Fragment: !s.Params.DontFragment, Duration: s.duration(), Rate: units.Rate{Unit: units.Max}, Path: "udp",
	}
	if s.ask == nil {
		if s.Params.Bandwidth > 0 {
			r.Rate = units.Rate{Unit: units.Bits, Micro: uint64(s.Params.Bandwidth) * uint64(s.Params.Parallel) * units.MicrosPerUnit}
			r.Burst = s.Params.Burst
		}
		if r.Duration == 0 {
			r.Duration = foreverUDP // the client ends it
		} else {
			r.Duration += foreverUDP
		}
		return r, s.affordable(r.Rate)
	}
	return s.askedToSend(r)
}

// foreverUDP is longer than any client lets a test last that it ends itself.
const foreverUDP = 25 * time.Hour

// askedToSend adds what only linerates ask of each other.
func (s *server) askedToSend(r plan.SendRequest) (plan.SendRequest, error) {
	a := s.ask
	rate, err := units.ParseRate(a.Rate)
	if err != nil {
		return r, &plan.UsageError{Flag: "rate", Msg: err.Error()}
	}
	r.Rate, r.Path, r.NoGSO, r.Burst, r.TTL = rate, a.Path, a.NoGSO, a.Burst, a.TTL
	if a.Layer != "" {
		if r.Layer, err = units.ParseLayer(a.Layer); err != nil {
			return r, &plan.UsageError{Flag: "layer", Msg: err.Error()}
		}
	}
	if a.IMIX != "" {
		sizes, err := units.ParseIMIX(a.IMIX)
		if err != nil {
			return r, &plan.UsageError{Flag: "imix", Msg: err.Error()}
		}
		r.Payload, r.IMIX = 0, plan.Mix{Name: a.IMIX, Frames: sizes}
	}
	r.Count, r.Bytes = a.Count, a.Bytes
	return r, s.affordable(r.Rate)
}

// affordable refuses to send more than this server may.
func (s *server) affordable(rate units.Rate) error {
	if s.MaxRate == 0 || rate.Unit == units.Bits && rate.Micro/units.MicrosPerUnit <= s.MaxRate {
		return nil
	}
	return &plan.UsageError{Flag: "rate", Msg: fmt.Sprintf("%v is more than this server sends (--max-rate %s)", rate, units.FormatBits(float64(s.MaxRate)))}
}
