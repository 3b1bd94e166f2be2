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

// server is the server's part of one coordinated test.
type server struct {
	*Call
	ask     *iperf3.Ask // nil from a stock client
	rep     *result.Report
	o       Observer
	streams streams
	// reflector is the port that sends back the client's probes, or answers its requests,
	// until stopReflector is called; 0 and nil if it wants neither.
	reflector     int
	stopReflector context.CancelFunc
	in, out       leg // nil where nothing goes that way
	conduct       *conductor
	control       *control
	outbox        *outbox           // nil towards a stock client
	warned        int               // warnings that the client knows
	unsent        []result.Interval // that came too late for it
}

// relay is an observer that tells the client what it sees.
type relay struct {
	Observer
	*server
}

func (o relay) Interval(r *result.Report, iv *result.Interval) {
	o.Observer.Interval(r, iv)
	if !o.outbox.send(iperf3.News{Interval: iv}) {
		o.unsent = append(o.unsent, *iv)
	}
}

// Answer runs one test that a client asked for. A report comes back whenever the
// test began, with what was measured until an error ended it.
func Answer(ctx context.Context, call *Call, o Observer) (*result.Report, error) {
	s := &server{Call: call, o: o}
	defer s.close()
	err := s.answer(ctx)
	if err != nil && ctx.Err() != nil {
		// Whatever it was at was cut short. What the client can't be told, it finds out.
		_ = s.Conn.WriteState(iperf3.ServerTerminate)
		err = ErrStopped
	}
	if err != nil && s.rep != nil {
		s.rep.Error = err.Error()
	}
	return s.rep, err
}

// ErrStopped is why a test broke off whose server was stopped.
var ErrStopped = errors.New("the server was stopped")

// answer runs the test; it leaves no report of one that never began.
func (s *server) answer(ctx context.Context) error {
	if len(s.Params.Extra) > 0 {
		s.ask = new(iperf3.Ask)
		if err := json.Unmarshal(s.Params.Extra, s.ask); err != nil {
			s.Conn.Refuse(iperf3.BadParams, 0)
			return fmt.Errorf("what the client asks for: %w", err)
		}
		if code := s.ask.Check(); code != iperf3.None {
			s.Conn.Refuse(code, 0)
			return fmt.Errorf("what the client asks for: %w", &iperf3.Error{Code: code})
		}
	}
	if s.ask != nil && s.ask.Bounce > 0 && !s.ask.Load {
		return s.bounce(ctx)
	}
	if err := s.prepare(ctx); err != nil {
		s.rep = nil
		return err
	}
	return s.settle(ctx, s.run(ctx))
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

// interval is how often the test reports, and its rate is looked at.
func (s *server) interval() time.Duration {
	asked := s.Interval
	if s.ask != nil {
		asked = time.Duration(s.ask.Interval)
	}
	if s.MaxRate > 0 && (asked == 0 || asked > 2*guardWindow) {
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
		s.outbox = newOutbox(s.Conn)
		defer s.outbox.close()
		if s.ask.Interval > 0 && s.interval() == time.Duration(s.ask.Interval) {
			s.conduct.board.o = relay{s.conduct.board.o, s}
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
	if s.stopReflector != nil {
		s.stopReflector()
	}
	if s.conduct != nil {
		s.conduct.close()
	}
}
