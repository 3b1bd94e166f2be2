package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/rx"
	"linerate/rx/track"
)

// IPerf2Options are what an end of an iperf 2 test brings along.
type IPerf2Options struct {
	Version  string        // of linerate
	Interval time.Duration // between lines of the report; 0 for none
	Window   int           // socket buffer asked for, in bytes; 0 for the kernel's
	IfIndex  int           // of the interface that the test uses; 0 for none in particular
	// MostRate bounds what a client may ask a server to send, in bit/s, and MostTime
	// how long its test may last; 0 for no bound.
	MostRate uint64
	MostTime time.Duration
	// ReceiveOnly has a server send no test data over UDP: nothing proves that the
	// address which asks for it is the client's own.
	ReceiveOnly bool
}

// bound ends a served test that takes longer than it may, and a little for its end.
func (o *IPerf2Options) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	const forItsEnd = 5 * time.Second
	if o.MostTime == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.MostTime+forItsEnd)
}

const (
	// iperf2Silence is how long the other end may say nothing before it is gone.
	iperf2Silence = 5 * time.Second
	// iperf2Drain is how long stragglers may take after a FIN. A client waits 2 s
	// for its report, one of 2.0 repeats its FIN after 250 ms.
	iperf2Drain = 200 * time.Millisecond
)

// An iperf2UDP is an end of a test over UDP, with a leg one way or both.
type iperf2UDP struct {
	*conductor
	settings iperf2.Settings
	opts     IPerf2Options
	server   bool

	in      *iperf2Receiving // nil where nothing comes
	flow    *IPerf2Flow      // what comes; nil where it does on a socket of out
	answers *iperf2.Answers  // to the FINs of flow; nil where there are none
	out     *sending         // nil where nothing leaves
	sockets []*net.UDPConn   // of out, where its flows are its own and reported on
}

// newIPerf2UDP prepares the report of a test.
func newIPerf2UDP(s iperf2.Settings, direction string, opts IPerf2Options, server bool, o Observer) (*iperf2UDP, error) {
	command := "test"
	if server {
		command = "serve"
	}
	rep := newReport(command, opts.Version, result.Config{
		Protocol: "udp", Peer: "iperf2", Direction: direction, Format: probe.IPerf2.String(),
		Flows: max(s.Flows, 1), PayloadBytes: s.Size, TOS: int(s.TOS),
		DurationS: s.Duration.Seconds(), Bytes: int64(s.Bytes), RateBps: float64(s.Rate),
	}, nil)
	c, err := newConductor(rep, o, iperf2Role(direction, server), opts.IfIndex)
	if err != nil {
		return nil, err
	}
	return &iperf2UDP{conductor: c, settings: s, opts: opts, server: server}, nil
}

// Directions in a report.
const (
	forward = "forward"
	reverse = "reverse"
	bidir   = "bidir"
)

// directionOf is a mode's direction in a report. The two halves of -r are tests
// of their own, of which the first goes forward.
func directionOf(m iperf2.Mode) string {
	switch m {
	case iperf2.Reverse:
		return reverse
	case iperf2.FullDuplex, iperf2.Dual:
		return bidir
	}
	return forward
}

// receiveFlow prepares to count a flow and to report to who sends it.
func (t *iperf2UDP) receiveFlow(f *IPerf2Flow) error {
	t.flow = f
	return t.receive(f.Conn, f.count)
}

// receive prepares to count what comes on a socket. strays hands over what of it
// came elsewhere; nil for nothing.
func (t *iperf2UDP) receive(c *net.UDPConn, strays func(*track.Tracker) int) error {
	path, err := rx.Find("udp")
	if err != nil {
		return err
	}
	t.rep.Config.RX = path.Name
	p := &plan.Receive{
		Path:     path,
		Config:   rx.Config{Sockets: []*net.UDPConn{c}, Window: t.opts.Window},
		Track:    track.Config{Format: probe.IPerf2, WallOffset: linux.WallOffset()},
		Workers:  1,
		Limits:   rx.Limits{Silence: iperf2Silence, Drain: iperf2Drain},
		Report:   *t.rep.Config,
		Interval: t.opts.Interval,
	}
	p.Config.Capture = p.Track.Capture()
	r, err := openReceiving(p)
	if err != nil {
		return err
	}
	t.in = &iperf2Receiving{receiving: r}
	r.receiver = &flowReceiver{Receiver: r.receiver, Buffered: r.receiver.(rx.Buffered), strays: strays, heard: &t.in.heard}
	r.describe(t.rep.Config)
	t.stream(c, false)
	return nil
}

// stream adds a socket to the report.
func (t *iperf2UDP) stream(c *net.UDPConn, sends bool) {
	t.rep.Streams = append(t.rep.Streams, result.Stream{
		ID: len(t.rep.Streams) + 1, Local: addrPort(c.LocalAddr()).String(), Remote: addrPort(c.RemoteAddr()).String(), Sender: sends,
	})
}

func addrPort(a net.Addr) netip.AddrPort {
	p := a.(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

func isGroup(a net.Addr) bool { return addrPort(a).Addr().IsMulticast() }

// run conducts what was prepared, and settles the accounts.
func (t *iperf2UDP) run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	legs, inAt, outAt := bothWays(orNil(t.in), orNil(t.out), t.server)
	t.board.parts = len(legs)
	if t.in != nil {
		defer time.AfterFunc(iperf2Silence, func() {
			if !t.in.heard.Load() {
				stop() // nobody sends
			}
		}).Stop()
	}
	err := t.conduct(running, legs...)

	var ways [2]result.Direction
	if t.in != nil {
		show := t.board.add
		if inAt == 1 {
			show = turn(show)
		}
		var unsettled error
		ways[inAt].Receiver, unsettled = t.in.settle(show)
		t.answer(ways[inAt].Receiver) // first, as the client has not long to wait
		err = errors.Join(err, unsettled)
		t.rep.Warnings = append(t.rep.Warnings, t.in.notes...)
	}
	first, second := orNil(t.in), orNil(t.out)
	if t.role == "sender" {
		first, second = second, first
	}
	here, unknown := t.end(first, second)
	err = errors.Join(err, unknown)
	t.board.end()
	if t.out != nil {
		ways[outAt].Sender = t.out.sent()
		t.rep.Warnings = append(t.rep.Warnings, t.out.notes...)
		if len(t.sockets) > 0 && err == nil {
			ways[outAt].Receiver, err = t.fetch(ctx)
		}
	}
	return t.file(&ways, len(legs), here, err)
}

// bothWays are the legs of an end, of which either may be nil, and which of the
// report's directions they are: what a client sends is the first.
func bothWays(in, out leg, server bool) (legs []leg, inAt, outAt int) {
	switch {
	case in == nil:
		return []leg{out}, 0, 0
	case out == nil:
		return []leg{in}, 0, 0
	case server:
		return []leg{in, turned{out}}, 0, 1
	}
	return []leg{out, turned{in}}, 1, 0
}

// iperf2Role is this end's in the first direction of a test.
func iperf2Role(direction string, server bool) string {
	if server == (direction == reverse) {
		return "sender"
	}
	return "receiver"
}

// orNil is a leg, or no leg for a nil pointer.
func orNil[T any, P interface {
	*T
	leg
}](p P) leg {
	if p == nil {
		return nil
	}
	return p
}

// fetch waits for what the other end says that it received; that it does not say
// it of every flow is the peer's error. A test that was stopped waits less long.
func (t *iperf2UDP) fetch(ctx context.Context) (*result.Receiver, error) {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), partingPatience)
		defer stop()
	}
	size := t.out.plan.Schedule.Sizes[0]
	sent := t.out.perFlow
	flows := make([]*result.Receiver, len(sent))
	failed := make([]error, len(sent))
	var asking sync.WaitGroup
	for i, c := range t.sockets {
		asking.Go(func() {
			r, err := awaitReport(ctx, c, finOf(t.out.plan, sent[i]), finPerFlow)
			if failed[i] = err; err == nil {
				flows[i] = reported(r, sent[i], size)
				flows[i].Rate = rate(t.out.plan.Stack, flows[i].Unique, flows[i].Unique*uint64(size), r.Duration)
			}
		})
	}
	asking.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	sum := together(flows)
	sum.Rate = rate(t.out.plan.Stack, sum.Unique, sum.Unique*uint64(size), time.Duration(sum.Seconds*float64(time.Second)))
	return sum, nil
}

// finOf makes the FINs of a flow that sent so much.
func finOf(p *plan.Send, sent uint64) func(try int) []byte {
	mono := linux.Monotonic()
	return func(try int) []byte {
		return p.Config.Template.Stamper.AppendFIN(nil, p.Schedule.Sizes[0], sent, try, mono)
	}
}

// answer reports to who sent the flow, and makes the answers to the FINs that still
// come of it.
func (t *iperf2UDP) answer(r *result.Receiver) {
	f := t.flow
	if f == nil || t.in.outcome.Reason != rx.Finished || !t.settings.AcksFIN() || isGroup(f.Conn.LocalAddr()) {
		return
	}
	size := t.settings.Size
	if size == 0 && r.Packets > 0 {
		size = int(r.PayloadBytes / r.Packets)
	}
	t.answers = iperf2.NewAnswers(serverReport(r, size), iperf2.LayoutOf(f.First), r.PayloadBytes+uint64(size))
	if first := t.answers.First(); first != nil {
		_, _ = f.Conn.Write(first) // one that has gone needs no answer
	}
}

// linger answers the FINs that still come until the other end is satisfied.
func (t *iperf2UDP) linger(ctx context.Context) {
	if t.answers != nil {
		answerFINs(ctx, t.flow.Conn, t.answers)
	}
}

func (t *iperf2UDP) close() {
	t.conductor.close()
	if t.in != nil {
		t.in.close()
	}
	if t.out != nil {
		t.out.close()
	}
	for _, c := range t.sockets {
		c.Close()
	}
}

// iperf2Receiving is the leg of what the other end sends.
type iperf2Receiving struct {
	*receiving
	heard atomic.Bool // anything came, the first datagram of a flow left out
}

// isTest says whether the flow was one: anybody can send a datagram.
func (r *iperf2Receiving) isTest() bool {
	return r.outcome.Reason == rx.Finished || r.tracker.Totals().Packets > 1
}

// flowReceiver hands the tracker also what of a flow came elsewhere.
type flowReceiver struct {
	rx.Receiver
	rx.Buffered
	strays func(*track.Tracker) int
	heard  *atomic.Bool
}

// Receive implements rx.Receiver.
func (r *flowReceiver) Receive(t *track.Tracker, until time.Time) (int, error) {
	if r.strays != nil {
		if n := r.strays(t); n > 0 {
			return n, nil
		}
	}
	n, err := r.Receiver.Receive(t, until)
	if n > 0 {
		r.heard.Store(true)
	}
	return n, err
}
