package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

const (
	// controlTOS marks the control connection for queues on its way: CS6, network
	// control (RFC 4594, section 3.1), so that it survives the load it measures.
	controlTOS = 48 << 2
	// grace is how much longer than the test a linerate server may send.
	grace = 2 * time.Second
	// stockDrain is how long a stock server is left to read what has left here: it
	// closes its sockets at the word that the test is over.
	stockDrain = 25 * time.Millisecond
	// partingPatience is how long the end of a test that was stopped may take.
	partingPatience = 1200 * time.Millisecond
)

// client is the client of a coordinated test.
type client struct {
	plan    *plan.Test
	rep     *result.Report
	o       Observer
	version string
	cookie  iperf3.Cookie
	conn    *iperf3.Conn
	// controlMSS is the control connection's, in bytes; 0 where that is unknown.
	controlMSS int
	begun      func() bool      // keeps the connection open when the context ends; false if it was too late
	greeting   *iperf3.Greeting // nil from a stock server
	streams    streams
	trips      *net.UDPConn // of round trips; nil for none
	out, in    leg          // nil where nothing goes that way
	conduct    *conductor
	control    *control
	teller     *teller // nil towards a stock server
	news       news
	ending     sync.Once     // of the word that the test is over
	told       chan struct{} // closed when the server said what ends the test
	word       iperf3.State  // what it said
	wordErr    error         // why it said nothing
}

// Test runs a coordinated test against linerate serve or a stock iperf3 -s. A
// report comes back whenever the test began, with what was measured until an
// error ended it. The sockets belong to the calling thread's network namespace.
func Test(ctx context.Context, p *plan.Test, version string, o Observer) (*result.Report, error) {
	c := &client{plan: p, o: o, version: version, cookie: p.Cookie, told: make(chan struct{})}
	defer c.close()
	if err := c.connect(ctx); err != nil {
		return nil, c.stopped(ctx, err)
	}
	c.rep = newReport("test", version, p.Report, p.Warnings)
	c.rep.Config.ControlMSS = c.controlMSS
	c.rep.Config.Peer = "iperf3"
	if !p.Request.TCP {
		c.rep.Config.Format = c.format().String()
	}
	if c.greeting != nil {
		c.rep.Config.Peer = "linerate"
		c.rep.Warnings = append(c.rep.Warnings, c.greeting.Warnings...)
	}
	if err := c.prepare(ctx); err != nil {
		return nil, c.stopped(ctx, err)
	}
	if !c.begun() {
		return nil, ctx.Err()
	}
	err := c.settle(ctx, c.run(ctx))
	if err != nil {
		c.rep.Error = err.Error()
	}
	return c.rep, err
}

// stopped is why the test can't be: that it was stopped, if it was.
func (c *client) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stock reports whether the server is not a linerate.
func (c *client) stock() bool { return c.greeting == nil }

// connect opens the control connection and tells what is asked for.
func (c *client) connect(ctx context.Context) error {
	r := &c.plan.Request
	local := netip.AddrPortFrom(c.plan.Source, 0)
	device := c.plan.Device
	if r.ControlBind != "" {
		addr, err := netip.ParseAddr(r.ControlBind)
		if err != nil {
			return &plan.UsageError{Flag: "control-bind", Msg: fmt.Sprintf("%q is no address of this host", r.ControlBind)}
		}
		local, device = netip.AddrPortFrom(addr, 0), ""
	}
	dialing, cancel := context.WithTimeout(ctx, r.ConnectPatience)
	defer cancel()
	conn, _, err := tcp.Dial(dialing, local, c.plan.Peer, tcp.Options{NoDelay: true, TOS: controlTOS, Device: device})
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if err := conn.SetKeepAliveConfig(KeepAlive); err != nil {
		return err
	}
	// What stops the test before it runs must not wait for the server's next word.
	c.begun = context.AfterFunc(ctx, func() { conn.Close() })
	if mss, err := tcp.MSS(conn); err == nil {
		c.controlMSS = mss
	}
	c.conn = iperf3.NewConn(conn)
	if err := c.introduce(); err != nil {
		return &plan.PeerError{Err: fmt.Errorf("%s: %w", c.plan.Peer, err)}
	}
	return nil
}

// unreachable words why there is no control connection.
func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = fmt.Errorf("%s does not answer within %v: is it up, and TCP port %d open?", c.plan.Peer.Addr(), c.plan.Request.ConnectPatience, c.plan.Peer.Port())
	} else {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno
		}
		err = fmt.Errorf("cannot connect to %s: %w (is linerate serve or iperf3 -s running there?)", c.plan.Peer, err)
	}
	return &plan.PeerError{Err: err}
}

// introduce says who is there and what the test is to be.
func (c *client) introduce() error {
	if err := c.conn.WriteCookie(c.cookie); err != nil {
		return controlError(err)
	}
	if err := expect(c.conn, iperf3.ParamExchange, nil); err != nil {
		return err
	}
	p := c.plan.Params
	if r := &c.plan.Request; r.Login != nil {
		login := *r.Login
		login.Time = time.Now()
		var err error
		if p.AuthToken, err = r.Key(login); err != nil {
			return err
		}
	}
	p.ClientVersion = "linerate " + c.version
	if !c.plan.Request.Stock {
		c.plan.Ask.Version, c.plan.Ask.Interval = c.version, int64(c.plan.Interval)
		extra, err := json.Marshal(&c.plan.Ask)
		if err != nil {
			return err
		}
		p.Extra = extra
	}
	if err := c.conn.WriteParams(&p); err != nil {
		return controlError(err)
	}
	c.conn.Patience = iperf3.Patience{First: messagePatience, Whole: messagePatience}
	state, err := c.conn.ReadState()
	if err != nil {
		return controlError(err)
	}
	if state == iperf3.Extra {
		c.greeting = new(iperf3.Greeting)
		if err := c.conn.ReadExtra(c.greeting); err != nil {
			return controlError(err)
		}
		return expect(c.conn, iperf3.CreateStreams, nil)
	}
	if state != iperf3.CreateStreams {
		return refusal(c.conn, state, iperf3.CreateStreams)
	}
	return nil
}

// prepare opens the streams and all that sends or counts, so that nothing is
// missed of the first packets.
func (c *client) prepare(ctx context.Context) error {
	r := &c.plan.Request
	n := c.plan.Streams()
	if c.streams.out = n; r.Reverse {
		c.streams.out = 0
	}
	if r.Bidir {
		n *= 2
	}
	if c.stock() {
		if err := c.limitToStock(); err != nil {
			return err
		}
	}
	dial, legs := c.streams.dialUDP, c.legsUDP
	if r.TCP {
		dial, legs = c.dialTCP, c.legsTCP
	}
	if err := dial(ctx, c.plan, c.stock(), n); err != nil {
		return err
	}
	if r.RTT > 0 {
		to, err := c.reflector("rtt")
		if err == nil {
			err = c.dialReflector(ctx, to)
		}
		if err != nil {
			return err
		}
	}
	// A linerate server waits until all is open here.
	if !c.stock() {
		if err := c.due(iperf3.TestStart); err != nil {
			return err
		}
	}
	err := legs(ctx)
	if err != nil {
		return err
	}
	c.rep.Streams = c.streams.describe()
	// Counts begin before the server may send.
	if c.conduct, err = newConductor(c.rep, c.o, c.role(), c.plan.IfIndex, flows(c.directions())...); err != nil {
		return err
	}
	if c.stock() {
		if err := c.due(iperf3.TestStart); err != nil {
			return err
		}
	} else if err := c.conn.WriteState(iperf3.TestStart); err != nil {
		return controlError(err)
	}
	return c.due(iperf3.TestRunning)
}

// due waits for a state before the test; a server that says something else refuses.
func (c *client) due(state iperf3.State) error {
	if err := expect(c.conn, state, nil); err != nil {
		return &plan.PeerError{Err: fmt.Errorf("%s: %w", c.plan.Peer, err)}
	}
	return nil
}

// limitToStock refuses what an iperf3 server cannot do, and tells what it leaves
// out.
func (c *client) limitToStock() error {
	r := &c.plan.Request
	refuse := func(flag, why string) error {
		return &plan.UsageError{Flag: flag, Msg: why + ": the server is a stock iperf3, run linerate serve there"}
	}
	switch {
	case len(r.IMIX.Frames) > 0:
		return refuse("imix", "its datagrams are of one size")
	case r.Verify:
		return refuse("verify", "it has no pattern")
	case r.Reverse && r.Path != "" && r.Path != "auto" && r.Path != "udp":
		return refuse("path", "it sends by ordinary sockets alone")
	case !r.Reverse && r.RX != "" && r.RX != "auto" && r.RX != "udp":
		return refuse("rx", "it counts by ordinary sockets alone")
	}
	return nil
}

// format is the payload header of the test's datagrams.
func (c *client) format() probe.Format {
	switch {
	case !c.stock():
		return probe.Native
	case c.plan.Request.Counters32:
		return probe.IPerf3
	}
	return probe.IPerf3Wide
}

func (c *client) legsUDP(ctx context.Context) error {
	out, in := c.streams.udp[:c.streams.out], c.streams.udp[c.streams.out:]
	if len(out) > 0 {
		p, err := c.plan.Sending(ctx, c.format(), localPort(out[0]))
		if err != nil {
			return err
		}
		p.Config.Sockets, p.PerFlow = out, len(p.Schedule.Sizes) == 1
		s, err := openSending(p)
		if err != nil {
			return err
		}
		c.out = s
		c.rep.Config.Path, c.rep.Config.PathReason, c.rep.Config.Burst = p.Report.Path, p.Report.PathReason, p.Report.Burst
		if err := s.describe(c.rep.Config); err != nil {
			return err
		}
		c.hearReceiver()
	}
	if len(in) > 0 {
		p, err := c.plan.Receiving(ctx, c.format(), localPort(in[0]), len(in))
		if err != nil {
			return err
		}
		p.Config.Sockets = in
		p.Streams = sources(in)
		if c.stock() {
			p.Limits.Packets = c.plan.Packets()
		}
		r, err := openReceiving(p)
		if err != nil {
			return err
		}
		c.in = r
		if len(out) == 0 {
			c.rep.Config.RX = p.Report.RX
			r.describe(c.rep.Config)
			c.hearSender()
		}
	}
	return nil
}

// hearReceiver takes from the server how it counts.
func (c *client) hearReceiver() {
	c.rep.Config.RX = ""
	if !c.stock() && c.greeting.Receive != nil {
		c.rep.Config.RX = c.greeting.Receive.RX
	}
}

// hearSender takes from the server how it sends.
func (c *client) hearSender() {
	if c.stock() || c.greeting.Send == nil {
		return
	}
	s := c.greeting.Send
	c.rep.Config.Path, c.rep.Config.PathReason, c.rep.Config.Burst = s.Path, s.PathReason, s.Burst
}

func remotePort(c *net.UDPConn) uint16 { return uint16(c.RemoteAddr().(*net.UDPAddr).Port) }

func localPort(c *net.UDPConn) uint16 { return uint16(c.LocalAddr().(*net.UDPAddr).Port) }

func (c *client) dialTCP(ctx context.Context, t *plan.Test, _ bool, n int) error {
	return c.streams.dialTCP(ctx, t, c.cookie, n)
}

func (c *client) legsTCP(context.Context) error {
	r := &c.plan.Request
	out, in := c.streams.tcp[:c.streams.out], c.streams.tcp[c.streams.out:]
	if len(out) > 0 {
		s := newTCPSending(newTCPStreams(out, c.plan.Interval, r.Omit), tcpTask{
			pattern: r.Pattern, blockLen: c.plan.Params.Len, rate: uint64(c.plan.Params.Bandwidth),
			bytes: uint64(r.Bytes), duration: c.lasting(), zeroCopy: c.plan.Params.ZeroCopy,
		})
		s.connect, s.ends = c.streams.connect, !c.stock()
		c.out = s
	}
	if len(in) > 0 {
		var verify *probe.Pattern
		if r.Verify {
			verify = &r.Pattern
		}
		streams := newTCPStreams(in, c.plan.Interval, r.Omit)
		if c.stock() {
			streams.most = uint64(r.Bytes)
		}
		c.in = newTCPReceiving(streams, verify)
	}
	return describeTCP(c.rep.Config, &c.streams)
}

// lasting is how long the test sends, what is omitted included; 0 without end.
func (c *client) lasting() time.Duration {
	if d := c.plan.Duration(); d > 0 {
		return d + c.plan.Request.Omit
	}
	return 0
}

// run runs the legs until the test is over.
func (c *client) run(ctx context.Context) error {
	c.o.Started(c.rep)
	running, stop := context.WithCancel(ctx)
	defer stop()
	legs := c.legs()
	if c.in != nil {
		since(c.in, time.Now())
		if end := c.lasting(); end > 0 && (c.out == nil || !c.stock()) {
			if !c.stock() {
				end += grace // its own end markers come first
			}
			defer time.AfterFunc(end, c.end).Stop()
			// A server that has nothing to say to that does not keep the test up.
			defer time.AfterFunc(end+plan.TestDrain, func() {
				c.conduct.later(running, func() { c.conduct.stop() })
			}).Stop()
		}
	}
	c.conduct.board.parts = len(legs)
	patience := time.Duration(0)
	if !c.stock() {
		c.conduct.board.parts++
		patience = lifeless
		c.teller = newTeller(c.conn)
		defer context.AfterFunc(ctx, c.end)() // so that its last word comes soon
	}
	c.control = hear(c.conn, patience, func(n *iperf3.News) {
		if n.Interval != nil {
			c.news.put(*n.Interval)
			c.conduct.later(running, c.showNews)
		}
	})
	go c.attend(running)
	measured, err := c.probe()
	if err != nil {
		return err
	}
	err = c.conduct.conduct(ctx, legs...)
	if ctx.Err() != nil || err != nil {
		measured(0)
	} else {
		measured(plan.TestDrain)
	}
	return err
}

// showNews shows what the server told of intervals. They may come until the server
// says that the test is over, which may be after all legs here have ended.
func (c *client) showNews() {
	for _, iv := range c.news.take() {
		c.conduct.board.add(len(c.legs()), iv)
	}
}

// news are intervals on their way from who hears of them to who shows them.
type news struct {
	mu   sync.Mutex
	rows []result.Interval
}

func (n *news) put(iv result.Interval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = append(n.rows, iv)
}

func (n *news) take() []result.Interval {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := n.rows
	n.rows = nil
	return rows
}

// legs are the directions of the test that this end has a part in.
func (c *client) legs() []leg {
	out, in := c.out, c.in
	if in != nil && !c.stock() {
		in = patient{in}
	}
	switch {
	case in == nil:
		return []leg{out}
	case out == nil:
		return []leg{in}
	}
	if c.stock() {
		// It sends until it is told to stop, and then hears nothing more.
		out = lasting{out, c.end}
	}
	return []leg{out, turned{in}}
}

// lasting is a leg at whose end something is to happen.
type lasting struct {
	leg
	end func()
}

func (l lasting) finish() error {
	err := l.leg.finish()
	l.end()
	return err
}

// end tells the server that the test is over.
func (c *client) end() {
	c.ending.Do(func() {
		if c.teller != nil {
			c.teller.hush()
		}
		_ = c.conn.WriteState(iperf3.TestEnd) // the reader finds out why it can't
	})
}

// attend ends the legs when the server has something to say that ends the test.
func (c *client) attend(ctx context.Context) {
	c.wordErr = c.control.due(iperf3.ExchangeResults)
	c.word = c.control.state
	close(c.told)
	c.conduct.later(ctx, func() { c.conduct.stop() })
}

func (c *client) close() {
	for _, l := range []leg{c.out, c.in} {
		if l != nil {
			l.close()
		}
	}
	c.streams.close()
	if c.trips != nil {
		c.trips.Close()
	}
	if c.conduct != nil {
		c.conduct.close()
	}
	if c.teller != nil {
		c.teller.hush()
	}
	if c.conn != nil {
		c.conn.HangUp(hangUpPatience)
	}
}
