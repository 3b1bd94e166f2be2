package plan

import (
	"context"
	"math"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/echo"
	"linerate/internal/host"
	"linerate/internal/iperf3"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/internal/units"
)

// A TestRequest is what was asked of test. What it says of sending is for
// whichever end sends.
type TestRequest struct {
	SendRequest
	TCP             bool
	Reverse, Bidir  bool
	RX              string // by which whichever end receives counts
	Verify          bool
	PatternName     string
	Omit            time.Duration
	MSS             int
	Congestion      string
	NoDelay         bool
	Pace            uint64 // bytes per second of each TCP stream
	BlockLen        int    // bytes of a TCP block; 0 for the default
	DontFragment    bool   // refuse payloads that no packet has room for
	ControlBind     string // address that the control connection leaves from
	ConnectPatience time.Duration
	Histogram       bool // of delay and round trips
	ConnectOnly     bool // times TCP handshakes, as many as Count
	Bounce          int  // bytes of a request and of its answer; 0 for none
	Loaded          bool // they go beside a load, not in place of one
	RTT             int  // probes a second for round trips; 0 for none

	// Stock asks for nothing but what iperf3 itself knows, whoever the peer is.
	Stock      bool
	ClientPort int // of the first stream; 0 for any
	// UserTimeout is how long what TCP sent may stay unacknowledged; 0 for the system's.
	UserTimeout time.Duration
	Counters32  bool
	Login       *iperf3.Login // with Key
	Key         LoginKey
	Extra       iperf3.Params // keys of iperf3 that are passed on as they are: title, extra data, server output
}

// A LoginKey encrypts a login for a server.
type LoginKey func(iperf3.Login) (token string, err error)

// A Test is the plan of a coordinated test's client.
type Test struct {
	Request  TestRequest
	Peer     netip.AddrPort
	Source   netip.Addr    // that the streams leave from
	Device   string        // that they are kept to; empty for none
	IfIndex  int           // that they leave by
	Cookie   iperf3.Cookie // names the test on the wire
	Params   iperf3.Params
	Ask      iperf3.Ask
	Report   result.Config
	Warnings []string
	Interval time.Duration // between lines of the report, set by the caller; 0 for none
}

// defaultConnect is how long the control connection may take.
const defaultConnect = 5 * time.Second

// ResolveTest plans the client of a coordinated test. The errors are UsageError,
// HostError, PeerError, or that of ctx.
func ResolveTest(ctx context.Context, r TestRequest) (*Test, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	to, err := r.reach(ctx)
	if err != nil {
		return nil, err
	}
	t := &Test{
		Request: r,
		Cookie:  iperf3.NewCookie(),
		Peer:    netip.AddrPortFrom(to.addr, to.port),
		Source:  to.route.Source,
		IfIndex: to.route.Link.Index,
	}
	if to.bound {
		t.Device = to.route.Link.Name
	}
	if t.Request.ConnectPatience == 0 {
		t.Request.ConnectPatience = defaultConnect
	}
	// From here on the peer is this address, however many its name has.
	t.Request.Host, t.Request.Port = to.addr.String(), int(to.port)
	if r.ConnectOnly {
		t.describeConnects(to.route)
		return t, nil
	}
	if r.Bounce > 0 && !r.Loaded {
		t.describeBounce(to.route)
		return t, nil
	}
	if r.TCP {
		return t, t.describeTCP(to.route)
	}
	// Whose header it will be, the peer says; what does not even fit the smallest
	// is refused now.
	smallest := probe.IPerf3Wide
	if r.Counters32 {
		smallest = probe.IPerf3
	}
	trial, err := t.Sending(ctx, smallest, 0)
	if err != nil {
		return nil, err
	}
	t.Warnings = trial.Warnings
	t.describeUDP(trial)
	return t, nil
}

// Sending plans what leaves this end: from consecutive ports, of which the first
// is given, 0 for any.
func (t *Test) Sending(ctx context.Context, f probe.Format, port uint16) (*Send, error) {
	r := t.Request.SendRequest
	r.Format, r.SrcPort, r.Fragment = f, port, !t.Request.DontFragment
	if r.Warmup = f == probe.Native && t.Request.Omit > 0; r.Warmup {
		r.SrcPorts = t.Streams()
	}
	if t.Request.Reverse {
		r.Path, r.VLAN, r.SrcMAC, r.DstMAC = "udp", nil, nil, nil // of the end that sends, not of this one
	}
	s, err := ResolveSend(ctx, r)
	if err != nil {
		return nil, err
	}
	s.Interval, s.Omit = t.Interval, t.Request.Omit
	if s.Omit > 0 && s.Schedule.Duration > 0 {
		s.Schedule.Duration += s.Omit
	}
	return s, nil
}

// Receiving plans what comes to this end, at so many consecutive ports of which the
// first is given.
func (t *Test) Receiving(ctx context.Context, f probe.Format, port uint16, ports int) (*Receive, error) {
	r := RecvRequest{
		Addr: netip.AddrPortFrom(t.Source, port).String(), Ports: ports, RX: t.Request.RX, Window: t.Request.Window,
		Format: f, Histogram: t.Request.Histogram, Verify: t.Request.Verify, Pattern: t.Request.Pattern, Drain: TestDrain,
		CPUs: t.Request.CPUs, Realtime: t.Request.Realtime,
	}
	p, err := ResolveReceive(ctx, r)
	if err != nil {
		return nil, err
	}
	p.Interval, p.Omit = t.Interval, t.Request.Omit
	p.Warmup = f == probe.Native && p.Omit > 0
	return p, nil
}

// TestDrain is how long a receiver waits for what was sent and has not come yet.
const TestDrain = time.Second

// LinkOf is the interface that has one of this host's addresses.
func LinkOf(addr netip.Addr) (*host.Link, error) { return host.LinkByAddr(addr.Unmap()) }

// PatternOfPeer refuses the name of a pattern that a peer may not ask for: no file
// of this host is its business.
func PatternOfPeer(name string) error {
	if strings.HasPrefix(name, "file:") {
		return &UsageError{"pattern", "a file is known to one end alone: take ramp, zero or random"}
	}
	return nil
}

// Streams are how many each direction has.
func (t *Test) Streams() int { return max(t.Request.Flows, 1) }

// describeUDP says in iperf3's words, and in ours, what a trial plan came to.
func (t *Test) describeUDP(s *Send) {
	r := &t.Request
	t.params()
	p := &t.Params
	p.UDP, p.Counters64 = true, !r.Counters32
	p.Len = s.Schedule.Sizes[0]
	if pps := s.Report.RatePps; pps > 0 {
		p.Bandwidth = max(1, int64(math.Round(pps*float64(8*p.Len)/float64(t.Streams()))))
	}
	if r.Isochronous != nil { // of which a server knows no more than how much it is
		r.Rate = r.Isochronous.Mean
		p.Bandwidth = max(1, int64(r.Rate.Micro/units.MicrosPerUnit))
	}
	p.BlockCount = int64(r.Count)
	p.DontFragment = !s.Config.Fragment
	t.Ask.Rate, t.Ask.Layer = r.Rate.String(), s.Report.Layer
	t.Ask.Payload, t.Ask.IMIX = s.Report.PayloadBytes, r.IMIX.Name
	t.Report = s.Report
	t.Report.Peer, t.Report.Format, t.Report.Direction = "", "", t.direction()
	t.Report.RX = r.RX
	t.Report.OmitS = r.Omit.Seconds()
	if r.Reverse {
		t.Report.Path, t.Report.PathReason, t.Report.Burst = "", "", 0
	}
}

// describeTCP says what a test over TCP is to be.
func (t *Test) describeTCP(route *host.Route) error {
	r := &t.Request
	t.params()
	p := &t.Params
	p.TCP, p.MSS, p.NoDelay, p.Congestion = true, r.MSS, r.NoDelay, r.Congestion
	p.Len = r.BlockLen
	if p.Len == 0 {
		p.Len = tcp.DefaultLen
	}
	rate, err := r.bits()
	if err != nil {
		return err
	}
	p.Bandwidth = int64(rate)
	p.FQRate = int64(8 * r.Pace)
	t.Ask.Pace = r.Pace
	t.Report = result.Config{
		Protocol: "tcp", Direction: t.direction(), Interface: route.Link.Name,
		Source: route.Source.String(), Destination: t.Peer.String(),
		Rate: r.Rate.String(), RateBps: float64(rate) * float64(t.Streams()), Layer: units.L4.String(),
		PayloadBytes: p.Len, Flows: t.Streams(), DurationS: t.Duration().Seconds(), OmitS: r.Omit.Seconds(), Bytes: r.Bytes,
		WindowAsked: r.Window, TOS: int(r.TOS), PaceBps: 8 * float64(r.Pace),
	}
	if route.Gateway.IsValid() {
		t.Report.Gateway = route.Gateway.String()
	}
	return nil
}

// bits is the rate of each TCP stream in bit/s of payload; 0 is as fast as it can.
func (r *TestRequest) bits() (uint64, error) {
	switch {
	case r.Rate.Unit == units.Max:
		return 0, nil
	case r.Rate.Unit != units.Bits || r.Rate.Layer != 0 && r.Rate.Layer != units.L4 || r.Layer != 0 && r.Layer != units.L4:
		return 0, &UsageError{"rate", "of TCP is in bits of payload, as 500M, or max"}
	}
	return max(1, r.Rate.Micro/units.MicrosPerUnit/uint64(max(r.Flows, 1))), nil
}

// params has what UDP and TCP have in common.
func (t *Test) params() {
	r := &t.Request
	p := r.Extra
	p.Parallel, p.Reverse, p.Bidirectional = t.Streams(), r.Reverse, r.Bidir
	p.Window, p.TOS, p.Num = r.Window, int(r.TOS), r.Bytes
	p.Omit = int(math.Ceil(r.Omit.Seconds()))
	p.Time = int(math.Ceil(t.Duration().Seconds()))
	t.Params = p
	t.Ask = iperf3.Ask{
		Duration: int64(t.Duration()), Count: r.Count, Bytes: r.Bytes,
		Path: r.Path, RX: r.RX, NoGSO: r.NoGSO, Burst: r.Burst, Pattern: r.PatternName, Verify: r.Verify, TTL: r.TTL, Histogram: r.Histogram,
	}
	if r.RTT > 0 || r.Bounce > 0 {
		t.Ask.Reflect, t.Ask.Bounce, t.Ask.Load = echo.NewToken(), r.Bounce, r.Loaded
	}
}

// Duration is how long the test lasts, without what is omitted; 0 if packets or
// bytes end it.
func (t *Test) Duration() time.Duration {
	switch r := &t.Request; {
	case r.Duration > 0:
		return r.Duration
	case r.Count == 0 && r.Bytes == 0:
		return defaultDuration
	}
	return 0
}

// Packets are how many packets in all end the test; 0 if time does.
func (t *Test) Packets() uint64 {
	switch r := &t.Request; {
	case r.Count > 0:
		return r.Count
	case r.Bytes > 0 && !r.TCP:
		return packetsOf(uint64(r.Bytes), []int{t.Params.Len})
	}
	return 0
}

func (t *Test) direction() string {
	switch {
	case t.Request.Reverse:
		return "reverse"
	case t.Request.Bidir:
		return "bidir"
	}
	return "forward"
}

// SocketOptions are those of the streams' TCP sockets.
func (t *Test) SocketOptions() tcp.Options {
	r := &t.Request
	return tcp.Options{
		Window: r.Window, MSS: r.MSS, Congestion: r.Congestion, NoDelay: r.NoDelay, TOS: r.TOS, TTL: r.TTL, Pace: r.Pace, Device: t.Device,
		UserTimeout: r.UserTimeout,
	}
}
