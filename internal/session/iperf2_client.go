package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"linerate/gen"
	"linerate/gen/frame"
	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
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
	s := q.settings(p)
	if s.Mode != iperf2.Forward && s.Flows > 1 {
		return &plan.UsageError{Flag: "flows", Msg: "against iperf 2 over UDP there is one flow where the server sends, too"}
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

// dialIPerf2 opens a socket per flow: a kernel path sends by it, and the server
// answers to it whatever the path. Those that are open come back with an error,
// too.
func dialIPerf2(ctx context.Context, p *plan.Send) (flows []*net.UDPConn, err error) {
	h := &p.Config.Template.Headers
	device := ""
	if p.Config.BindDevice || h.Dst.IsMulticast() {
		device = p.Config.Interface
	}
	for i := range p.Schedule.Flows {
		from, to := h.Ports(uint16(i))
		d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return linux.BindToDevice(c, device) }}
		if h.Src.IsValid() {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Src, from))
		}
		c, err := d.DialContext(ctx, "udp", netip.AddrPortFrom(h.Dst, to).String())
		if err != nil {
			return flows, &plan.PeerError{Err: fmt.Errorf("a flow to the server: %w", err)}
		}
		flows = append(flows, c.(*net.UDPConn))
		if err := mark(flows[i], h); err != nil {
			return flows, err
		}
	}
	if p.Path.Family == gen.Kernel {
		p.Config.Sockets = flows
	}
	return flows, nil
}

// mark has what a socket sends look like what a path sends.
func mark(c *net.UDPConn, h *frame.Headers) error {
	if h.Dst.Unmap().Is4() {
		p := ipv4.NewPacketConn(c)
		return errors.Join(p.SetTOS(int(h.TOS)), p.SetTTL(int(h.TTL)), p.SetMulticastTTL(int(h.TTL)))
	}
	p := ipv6.NewPacketConn(c)
	return errors.Join(p.SetTrafficClass(int(h.TOS)), p.SetHopLimit(int(h.TTL)), p.SetMulticastHopLimit(int(h.TTL)))
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
		if err := t.receive(server.Conn, server.count); err != nil {
			return err
		}
	}
	o := t.o.(ServerObserver)
	o.Started(t.rep)
	err = t.run(ctx)
	o.Ended(t.rep)
	if server != nil {
		t.linger(ctx, server, t.rep.Reverse.Receiver)
	}
	if err == nil && t.settings.Mode == iperf2.Tradeoff {
		err = t.tradeoff(ctx, back, flows[0], o)
	}
	return err
}

// announce sends the first datagram of each flow, with the header; seq is its
// number, from 0, or math.MaxUint64 for the one before it, which does not count.
func (t *iperf2UDP) announce(flows []*net.UDPConn, p *plan.Send, seq uint64) error {
	size := max(p.Schedule.Sizes[0], iperf2.SmallestHeader)
	if t.settings.Start != 0 {
		size = max(size, iperf2.SmallestTimes)
	}
	b := make([]byte, size)
	probe.IPerf2.Init(b)
	t.settings.PutUDP(b)
	for i, c := range flows {
		if i > 0 {
			time.Sleep(betweenFlows)
		}
		p.Config.Template.Stamper.Put(b, uint16(i), seq, linux.Monotonic())
		if _, err := c.Write(b); err != nil {
			return &plan.PeerError{Err: fmt.Errorf("announce the test: %w", err)}
		}
	}
	if len(flows) > 1 {
		time.Sleep(afterFlows)
	}
	return nil
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
	if err := second.receive(f.Conn, f.count); err != nil {
		return err
	}
	o.Started(second.rep)
	err = second.run(ctx)
	o.Ended(second.rep)
	second.linger(ctx, f, second.rep.Receiver)
	return err
}

// linger answers the server's FINs until it is satisfied.
func (t *iperf2UDP) linger(ctx context.Context, f *IPerf2Flow, r *result.Receiver) {
	if a := t.answer(f, r); a != nil {
		answerFINs(ctx, f.Conn, a)
	}
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

// together is what several flows received.
func together(flows []*result.Receiver) *result.Receiver {
	if len(flows) == 1 {
		return flows[0]
	}
	var jitter int64
	var late uint64
	sum := &result.Receiver{ArrivedPackets: &result.ArrivedPackets{JitterNS: &jitter, OutOfOrder: &late}}
	for i, f := range flows {
		sum.PayloadBytes += f.PayloadBytes
		sum.Seconds = max(sum.Seconds, f.Seconds)
		sum.Packets += f.Packets
		sum.Unique += f.Unique
		sum.Lost += f.Lost
		sum.LossIsLowerBound = sum.LossIsLowerBound || f.LossIsLowerBound
		sum.Duplicates += f.Duplicates
		late += *f.OutOfOrder
		jitter += *f.JitterNS / int64(len(flows))
		number := uint16(i)
		f.Flow = &number
		sum.Flows = append(sum.Flows, *f)
	}
	if sent := sum.Unique + sum.Lost; sent > 0 {
		ratio := float64(sum.Lost) / float64(sent)
		sum.LossRatio = &ratio
	}
	return sum
}
