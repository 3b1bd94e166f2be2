package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// An IPerf2Request asks for a test over UDP against a server of iperf 2.
type IPerf2Request struct {
	IPerf2Options
	// Send says where to, how fast over all flows, and how much; its Format is
	// set here.
	Send plan.SendRequest
	Mode iperf2.Mode
	// Back is the port where the server shall send to, in a mode that is Back.
	Back int
	// Times announces a start by a wall clock that both ends share, and
	// NoFIN that no report is awaited.
	Times, NoFIN bool
	// Bare sends no header, for servers that want none; only forward.
	Bare bool
}

const (
	// betweenFlows is the pause between the first datagrams of two flows, and
	// afterFlows that before the next ones where there are several: the stock server
	// confuses flows that begin together.
	betweenFlows = 20 * time.Millisecond
	afterFlows   = 200 * time.Millisecond
	// betweenRequests is how often a client asks for data that doesn't come.
	betweenRequests = 10 * time.Millisecond
	// patienceForBack is how long the server may take to open its flow.
	patienceForBack = 3 * time.Second
)

// IPerf2 runs a test over UDP against a server of iperf 2. Its first datagram has
// number 0, which no server counts: it carries the header, and lets each flow
// begin apart. A report comes back whenever the test began; for Tradeoff the
// second half is a report of its own, and o sees both. The sockets belong to the
// calling thread's network namespace.
func IPerf2(ctx context.Context, q IPerf2Request, o ServerObserver) error {
	q.Send.Format = probe.IPerf2
	if q.Mode == iperf2.Reverse {
		q.Send.Path = "udp" // here; by what the server sends is not known
	}
	p, err := plan.ResolveSend(ctx, q.Send)
	if err != nil {
		return err
	}
	p.Interval, p.PerFlow = q.Interval, p.Schedule.Flows > 1
	q.IfIndex = p.Config.IfIndex
	s := q.settings(p)
	if s.Mode != iperf2.Forward && s.Flows > 1 {
		return &plan.UsageError{Flag: "flows", Msg: "against iperf 2 over UDP there is one flow where the server sends, too"}
	}
	if s.Mode != iperf2.Forward && p.Config.Template.Headers.Dst.IsMulticast() {
		return &plan.UsageError{Msg: fmt.Sprintf("%v is a group, which sends nothing back", p.Config.Template.Headers.Dst)}
	}
	t, err := newIPerf2UDP(s, directionOf(s.Mode), q.IPerf2Options, false, o)
	if err != nil {
		return err
	}
	defer t.close()
	t.configure(p)
	var back *IPerf2Listener
	if s.Mode.Back() {
		any := netip.IPv6Unspecified()
		if p.Config.Template.Headers.Dst.Is4() {
			any = netip.IPv4Unspecified()
		}
		if back, err = ListenIPerf2(ctx, netip.AddrPortFrom(any, uint16(s.Port)), "", netip.Addr{}, q.Window); err != nil {
			return &plan.HostError{Err: fmt.Errorf("wait for the server's flow: %w", err)}
		}
		defer back.Close()
	}
	flows, err := dialIPerf2(ctx, p)
	if err != nil {
		for _, c := range flows {
			c.Close()
		}
		return err
	}
	if s.Mode == iperf2.Reverse {
		return t.fromServer(ctx, flows[0], p)
	}
	t.sockets = flows
	return t.toServer(ctx, p, q, back)
}

// settings are what the server is told.
func (q *IPerf2Request) settings(p *plan.Send) iperf2.Settings {
	s := iperf2.Settings{
		Mode: q.Mode, Flows: p.Schedule.Flows, Port: q.Back, Size: p.Schedule.Sizes[0],
		Duration: min(p.Schedule.Duration, iperf2.MostDuration), TOS: q.Send.TOS,
		NoFIN: q.NoFIN || q.Mode == iperf2.FullDuplex, // else a server asks for a report at its own end, too
		Rate:  payloadRate(p) / uint64(p.Schedule.Flows),
	}
	if s.Bytes = uint64(q.Send.Bytes) / uint64(s.Flows); s.Bytes == 0 {
		s.Bytes = p.Schedule.Count * uint64(s.Size) / uint64(s.Flows)
	}
	s.Bytes = min(s.Bytes, math.MaxInt32)
	if q.Times {
		s.Start = time.Duration(linux.Monotonic() + linux.WallOffset())
	}
	return s
}

// payloadRate is the rate of all flows in bit/s of payload; 0 for as fast as can be.
func payloadRate(p *plan.Send) uint64 {
	if p.Report.RateBps > 0 && p.Report.Layer == units.L4.String() {
		return uint64(p.Report.RateBps)
	}
	return uint64(math.Round(p.Report.RatePps * 8 * float64(p.Schedule.Sizes[0])))
}

// configure has the report say what the plan does.
func (t *iperf2UDP) configure(p *plan.Send) {
	c, direction := p.Report, t.rep.Config.Direction
	*t.rep.Config = c
	t.rep.Config.Peer, t.rep.Config.Direction = "iperf2", direction
	t.rep.Config.TOS, t.rep.Config.Bytes = int(t.settings.TOS), int64(t.settings.Bytes)
	t.rep.Warnings = p.Warnings
	if direction == reverse {
		t.rep.Config.Path, t.rep.Config.PathReason = "", ""
	}
}

// toServer sends, and receives in a mode that does both.
func (t *iperf2UDP) toServer(ctx context.Context, p *plan.Send, q IPerf2Request, back *IPerf2Listener) (err error) {
	flows := t.sockets
	if t.out, err = openSending(p); err != nil {
		return err
	}
	if err := t.out.describe(t.rep.Config); err != nil {
		return err
	}
	for _, c := range flows {
		t.stream(c, true)
	}
	if t.settings.Mode == iperf2.FullDuplex {
		if err := t.receive(flows[0], nil); err != nil {
			return err
		}
		t.rep.Streams = t.rep.Streams[:1]
	}
	if !q.Bare {
		if err := t.announce(flows, p, math.MaxUint64); err != nil {
			return err
		}
	}
	if !t.settings.AcksFIN() || isGroup(flows[0].RemoteAddr()) {
		t.sockets = nil
		defer func() {
			for _, c := range flows {
				c.Close()
			}
		}()
	}
	var server *IPerf2Flow
	if t.settings.Mode == iperf2.Dual {
		if server, err = t.acceptBack(ctx, back, flows[0]); err != nil {
			return err
		}
		defer server.Close()
		if err := t.receiveFlow(server); err != nil {
			return err
		}
	}
	o := t.o.(ServerObserver)
	o.Started(t.rep)
	err = t.run(ctx)
	o.Ended(t.rep)
	t.linger(ctx)
	if err == nil && t.settings.Mode == iperf2.Tradeoff {
		err = t.tradeoff(ctx, back, flows[0], o)
	}
	return err
}

// acceptBack waits for the flow that the server opens.
func (t *iperf2UDP) acceptBack(ctx context.Context, l *IPerf2Listener, flow *net.UDPConn) (*IPerf2Flow, error) {
	waiting, stop := context.WithTimeout(ctx, patienceForBack)
	defer stop()
	for {
		f, err := l.Accept(waiting)
		switch {
		case err != nil && ctx.Err() == nil && waiting.Err() != nil:
			return nil, &plan.PeerError{Err: fmt.Errorf("the server opened no flow to port %d here within %v: is the port reachable from it?", t.settings.Port, patienceForBack)}
		case err != nil:
			return nil, err
		case f.from.Addr() == addrPort(flow.RemoteAddr()).Addr():
			return f, nil
		}
		f.Close()
	}
}

// tradeoff receives the second half of -r.
func (t *iperf2UDP) tradeoff(ctx context.Context, back *IPerf2Listener, flow *net.UDPConn, o ServerObserver) error {
	second, err := newIPerf2UDP(t.settings, reverse, t.opts, false, o)
	if err != nil {
		return err
	}
	defer second.close()
	*second.rep.Config = *t.rep.Config
	second.rep.Config.Direction = reverse
	f, err := t.acceptBack(ctx, back, flow)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := second.receiveFlow(f); err != nil {
		return err
	}
	o.Started(second.rep)
	err = second.run(ctx)
	o.Ended(second.rep)
	second.linger(ctx)
	return err
}

// fromServer asks for data and counts it.
func (t *iperf2UDP) fromServer(ctx context.Context, flow *net.UDPConn, p *plan.Send) error {
	defer flow.Close()
	if err := t.receive(flow, nil); err != nil {
		return err
	}
	o := t.o.(ServerObserver)
	o.Started(t.rep)
	asking, stop := context.WithCancel(ctx)
	asked := make(chan struct{})
	var failed error
	go func() {
		defer close(asked)
		for asking.Err() == nil && !t.in.heard.Load() && failed == nil {
			failed = t.announce([]*net.UDPConn{flow}, p, 0)
			time.Sleep(betweenRequests)
		}
	}()
	err := t.run(ctx)
	stop()
	<-asked
	if !t.in.heard.Load() && err == nil {
		err = &plan.PeerError{Err: errors.Join(failed, fmt.Errorf("the server at %v sent nothing: is it iperf -s -u?", flow.RemoteAddr()))}
		t.rep.Error = err.Error()
	}
	o.Ended(t.rep)
	return err
}
