package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/internal/units"
)

// A Doorman hands a server's test the data connections that its client opens.
type Doorman interface {
	// TCP waits for so many data connections of the client, the cookies read, in the
	// order in which they were made.
	TCP(ctx context.Context, streams int) ([]*net.TCPConn, error)
	// Expect gets ready for the hellos of so many UDP streams, before the client
	// is told to open them. A hello does not say which test it is of, so tests of
	// one client take turns.
	Expect(ctx context.Context, streams int) error
	// UDP waits for the hello of the client's next stream, answers it, and returns
	// a socket that is connected to where it came from.
	UDP(context.Context) (*net.UDPConn, error)
	// Quiet ends the answers to hellos that come again: from now on the sockets
	// are the test's alone.
	Quiet()
}

// A Call is what a client asks of a server, its parameters read and let pass.
type Call struct {
	Conn     *iperf3.Conn
	Params   *iperf3.Params
	Local    netip.AddrPort // this end of the control connection
	Remote   netip.AddrPort // the client's
	Doorman  Doorman
	Version  string
	Interval time.Duration // of this end's report, where the client asks for none
	MaxTime  time.Duration // after which the test is ended; 0 for never
	MaxRate  uint64        // bit/s of payload that the test moves; 0 for any
	// Output makes of a report what a client reads that asks for the server's output;
	// nil for nothing.
	Output func(*result.Report) string
}

// streamPatience is how long a client may take to open its streams.
const streamPatience = 15 * time.Second

// server is the server's part of one coordinated test.
type server struct {
	*Call
	ask     *iperf3.Ask // nil from a stock client
	rep     *result.Report
	o       Observer
	streams streams
	// reflector sends back the client's probes for round trips; nil if it wants none.
	reflector *net.UDPConn
	in, out   leg // nil where nothing goes that way
	conduct   *conductor
	control   *control
	teller    *teller           // nil towards a stock client
	untold    []result.Interval // that came too late for it
}

// told is an observer that tells the client what it sees.
type told struct {
	Observer
	*server
}

func (t told) Interval(r *result.Report, iv *result.Interval) {
	t.Observer.Interval(r, iv)
	if !t.teller.tell(iperf3.News{Interval: iv}) {
		t.untold = append(t.untold, *iv)
	}
}

// Answer runs one test that a client asked for. A report comes back whenever the
// test began, with what was measured until an error ended it.
func Answer(ctx context.Context, call *Call, o Observer) (*result.Report, error) {
	s := &server{Call: call, o: o}
	defer s.close()
	if len(call.Params.Extra) > 0 {
		s.ask = new(iperf3.Ask)
		if err := json.Unmarshal(call.Params.Extra, s.ask); err != nil {
			call.Conn.Refuse(iperf3.BadParams, 0)
			return nil, fmt.Errorf("what the client asks for: %w", err)
		}
		if code := s.ask.Check(); code != iperf3.None {
			call.Conn.Refuse(code, 0)
			return nil, fmt.Errorf("what the client asks for: %w", &iperf3.Error{Code: code})
		}
	}
	if s.ask != nil && s.ask.Bounce > 0 {
		return s.bounce(ctx)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	err := s.settle(ctx, s.run(ctx))
	if err != nil {
		s.rep.Error = err.Error()
	}
	return s.rep, err
}

// counts are the streams of each direction.
func (s *server) counts() (in, out int) {
	n := s.Params.Parallel
	switch {
	case s.Params.Bidirectional:
		return n, n
	case s.Params.Reverse:
		return 0, n
	}
	return n, 0
}

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
	if err := s.openReflector(); err != nil {
		s.Conn.Refuse(iperf3.BadParams, 0)
		return err
	}
	if s.ask != nil {
		g := iperf3.Greeting{Version: s.Version, Warnings: s.rep.Warnings, Reflector: s.reflectorPort()}
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

// options are those of the streams' TCP sockets.
func (s *server) options() tcp.Options {
	o := tcp.Options{
		Window: s.Params.Window, Congestion: s.Params.Congestion, NoDelay: s.Params.NoDelay, TOS: uint8(s.Params.TOS),
		Pace: uint64(s.Params.FQRate) / 8,
	}
	if s.ask != nil {
		o.TTL, o.Pace = s.ask.TTL, s.ask.Pace
	}
	return o
}

// interval is how often the test reports, and its rate is looked at.
func (s *server) interval() time.Duration {
	asked := s.Interval
	if s.ask != nil {
		asked = time.Duration(s.ask.Interval)
	}
	if s.MaxRate > 0 && (asked == 0 || asked > guardWindow) {
		return guardWindow
	}
	return asked
}

// duration is how long the test sends, what is omitted included; 0 without end.
func (s *server) duration() time.Duration {
	d := time.Duration(s.Params.Time) * time.Second
	if s.ask != nil {
		d = time.Duration(s.ask.Duration)
	}
	if d == 0 {
		return 0
	}
	return d + s.omit()
}

func (s *server) omit() time.Duration { return time.Duration(s.Params.Omit) * time.Second }

func (s *server) legsTCP(context.Context) error {
	in, _ := s.counts()
	pattern, verify, err := s.pattern()
	if err != nil {
		return err
	}
	if in > 0 {
		r := newTCPReceiving(newTCPStreams(s.streams.tcp[:in], s.interval(), s.omit()), verify)
		s.in = r
	}
	if in < len(s.streams.tcp) {
		task := tcpTask{pattern: pattern, blockLen: s.Params.Len, rate: s.rateTCP(), zeroCopy: s.Params.ZeroCopy}
		if s.ask != nil {
			task.bytes, task.duration = uint64(s.ask.Bytes), s.duration()
		}
		out := newTCPSending(newTCPStreams(s.streams.tcp[in:], s.interval(), s.omit()), task)
		out.ends = true // or a stock client waits in vain for a block to be whole
		s.out = out
	}
	s.rep.Config.Flows, s.rep.Config.PayloadBytes = s.Params.Parallel, s.Params.Len
	return describeTCP(s.rep.Config, &s.streams)
}

// rateTCP is the bit/s of payload at which each stream sends; 0 for no limit.
func (s *server) rateTCP() uint64 {
	asked := uint64(s.Params.Bandwidth)
	if s.MaxRate == 0 {
		return asked
	}
	in, out := s.counts()
	share := max(s.MaxRate/uint64(in+out), 1)
	if asked == 0 {
		return share
	}
	return min(asked, share)
}

// pattern is what streams are filled with, and what they are held against; nil if
// they are not.
func (s *server) pattern() (probe.Pattern, *probe.Pattern, error) {
	name := "ramp"
	if s.ask != nil && s.ask.Pattern != "" {
		name = s.ask.Pattern
	}
	if err := plan.PatternOfPeer(name); err != nil {
		return probe.Pattern{}, nil, err
	}
	pattern, err := probe.ParsePattern(name)
	if err != nil || s.ask == nil || !s.ask.Verify {
		return pattern, nil, err
	}
	return pattern, &pattern, nil
}

// run starts the test and runs the legs until the client ends it.
func (s *server) run(ctx context.Context) error {
	if s.ask == nil { // else it was said before
		if err := s.Conn.WriteState(iperf3.TestStart); err != nil {
			return controlError(err)
		}
	}
	if err := s.Conn.WriteState(iperf3.TestRunning); err != nil {
		return controlError(err)
	}
	s.o.Started(s.rep)
	running, stop := context.WithCancel(ctx)
	defer stop()
	if s.MaxTime > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeoutCause(ctx, s.MaxTime, errTooLong)
		defer over()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.conduct.board.o = &guard{Observer: s.o, maxRate: s.MaxRate, end: end}
	legs := s.legs()
	if s.ask != nil {
		s.teller = newTeller(s.Conn)
		defer s.teller.hush()
		if s.ask.Interval > 0 {
			s.conduct.board.o = told{s.conduct.board.o, s}
		}
	}
	s.conduct.board.parts = len(legs)
	ended := make(chan error, 1)
	go func() {
		ended <- s.control.due(iperf3.TestEnd)
		s.conduct.later(running, func() { s.conduct.stop() })
	}()
	err := s.conduct.conduct(ctx, legs...)
	if ctx.Err() == nil {
		// The legs may be over sooner than the client says so.
		select {
		case said := <-ended:
			return errors.Join(err, said)
		case <-ctx.Done():
		}
	}
	return errors.Join(err, s.breakOff(context.Cause(ctx)))
}

// legs are the directions of the test: what the client sends is the first.
func (s *server) legs() []leg {
	if s.in != nil {
		since(s.in, time.Now())
	}
	in := s.in
	if in != nil && s.ask != nil {
		in = patient{in}
	}
	switch {
	case s.out == nil:
		return []leg{in}
	case in == nil:
		return []leg{s.out}
	}
	return []leg{in, turned{s.out}}
}

func (s *server) close() {
	for _, l := range []leg{s.in, s.out} {
		if l != nil {
			l.close()
		}
	}
	s.streams.close()
	if s.reflector != nil {
		s.reflector.Close()
	}
	if s.conduct != nil {
		s.conduct.close()
	}
}
