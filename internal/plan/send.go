package plan

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"linerate/gen"
	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A Mix is a cycle of frame sizes, in bytes with FCS, under the name it was
// asked for by. Without frames it is no mix.
type Mix struct {
	Name   string
	Frames []int
}

// A SendRequest is what was asked of send. Zero values stand for what was not
// given, where nothing else is said.
type SendRequest struct {
	Host   string // HOST or HOST:PORT
	Port   int    // where Host names none
	V4, V6 bool

	Rate        units.Rate // of all flows; must be given, unless one of the next three is
	Ramp        *Ramp
	Profile     Profile
	Isochronous *Isochronous
	Layer       units.Layer

	Frame   int // bytes with FCS
	Payload int // bytes
	IMIX    Mix
	// Fragment lets a Payload that no packet has room for leave in fragments; what
	// fits leaves whole.
	Fragment bool

	Duration time.Duration
	Count    uint64
	Bytes    int64 // of payload

	Path     string // a name of gen.Paths, or auto
	Flows    int    // 0 for as many as the longest range has
	Burst    int
	Smooth   bool  // one packet at a time
	Threads  int   // workers; AutoThreads for one a processor, as far as there are flows
	CPUs     []int // that they run on
	Realtime bool  // priority of theirs before all ordinary ones
	Queue    int   // of the interface, on the paths that have one to themselves
	NoGSO    bool  // no super-frames
	Window   int   // SO_SNDBUF in bytes
	Format   probe.Format
	Pattern  probe.Pattern // must be given

	// Warmup gives what leaves before the test counts flows of its own: as many
	// again, numbered behind the others.
	Warmup bool

	SrcPort            uint16 // of flow 0; 0 for any
	SrcPorts, DstPorts int    // ports in a row that the flows take in turn; see frame.Headers
	Srcs, Dsts         Addrs  // addresses that they take in turn; the first of Dsts may stand for Host

	Bind           string // ADDRESS, ADDRESS%INTERFACE or INTERFACE
	Iface          string
	SrcMAC, DstMAC net.HardwareAddr
	VLAN           *uint16
	TOS            uint8 // the byte of the IP header
	TTL            int
}

// A Send is the plan of a sender: all that its session needs.
type Send struct {
	Path      *gen.Path
	Config    gen.Config
	Schedule  pace.Schedule
	Workers   int // threads that share the flows
	Placement linux.Placement
	Stack     units.Stack   // headers around the payloads
	Report    result.Config // what the report says of it
	Warnings  []string
	Warmup    bool          // see SendRequest
	Unwatched bool          // a trial of speed on this machine: see host.Flow
	PerFlow   bool          // intervals tell of each flow, too; for packets of one size
	Interval  time.Duration // between lines of the report, set by the caller; 0 for none
	Omit      time.Duration // at the start, which no total holds; set by a coordinated test
}

// ResolveSend plans a sender. The errors are UsageError, HostError, PeerError,
// or that of ctx.
func ResolveSend(ctx context.Context, r SendRequest) (*Send, error) {
	if err := r.ranges(); err != nil {
		return nil, err
	}
	if err := r.checkIsochronous(); err != nil {
		return nil, err
	}
	to, err := r.reach(ctx)
	if err != nil {
		return nil, err
	}
	s := &Send{
		Config: gen.Config{
			Interface:  to.route.Link.Name,
			IfIndex:    to.route.Link.Index,
			Window:     r.Window,
			BindDevice: to.bound,
			Bypass:     onlyQueues(to.route.Link.Qdisc),
			NoGSO:      r.NoGSO,
			Queue:      r.Queue,
		},
		Stack:  units.Stack{IPv6: to.addr.Is6()},
		Warmup: r.Warmup,
	}
	if r.VLAN != nil {
		s.Stack.VLANTags = 1
	}
	o, err := s.schedule(&r, to)
	if err != nil {
		return nil, err
	}
	reason, err := s.choosePath(&r, o, to.route)
	if err != nil {
		return nil, err
	}
	if err := s.workers(&r, to.route.Link); err != nil {
		return nil, err
	}
	if r.Burst == 0 && s.Path.Bulk != 0 {
		s.bulk(o.pps)
	}
	if s.Path.Together != nil && !r.Warmup { // a warm-up numbers what leaves burst by burst
		s.space(r.Burst, o.pps)
	}
	// Slower tests have nothing to gain from going past the queue, and stay in
	// sight of captures on this host, which see only what goes by it.
	s.Config.Bypass = s.Config.Bypass && s.Schedule.Most > 1
	h, err := s.headers(ctx, &r, to)
	if err != nil {
		return nil, err
	}
	if err := s.build(&r, h); err != nil {
		return nil, err
	}
	s.Report = s.report(&r, to, o)
	s.Report.PathReason = reason
	return s, nil
}

// onlyQueues reports whether a queueing discipline does nothing to packets but
// keep them in some order, so that nothing is evaded by going past it.
func onlyQueues(qdisc string) bool {
	switch qdisc {
	case "noqueue", "pfifo", "pfifo_fast", "bfifo", "mq", "fq_codel":
		return true
	}
	return false
}

// schedule settles sizes, rate and end of the test.
func (s *Send) schedule(r *SendRequest, to *destination) (offer, error) {
	l, err := newLimits(s.Stack, r.Format.String(), r.Format.Size(), to.route.MTU, to.bottleneck())
	if err != nil {
		return offer{}, err
	}
	if r.Fragment = r.Fragment && r.Payload > l.most; r.Fragment {
		s.fragment(r, &l)
	}
	sizes, err := l.sizes(r.Frame, r.Payload, r.IMIX)
	if err != nil {
		return offer{}, err
	}
	flag, profile, length, err := r.profile()
	if err != nil {
		return offer{}, err
	}
	if r.Isochronous != nil {
		flag, r.Rate = "isochronous", r.Isochronous.Mean
	}
	var o offer
	if profile != nil {
		r.Duration, r.Rate = length, profile.most()
		o, s.Schedule.Profile, err = profile.offers(flag, r.Layer, to.route.Link)
	} else {
		o, err = newOffer(r.Rate, r.Layer, to.route.Link)
	}
	if err != nil {
		return o, err
	}
	rates := s.Schedule.Profile
	if s.Schedule, err = newSchedule(r, &o, s.Stack, sizes); err != nil {
		return o, err
	}
	s.Schedule.Profile = rates
	if r.Isochronous != nil {
		s.Schedule.Burst, s.Schedule.Most = burstMost, burstMost
		if s.Schedule.Isochronous, err = r.Isochronous.bursts(&s.Schedule); err != nil {
			return o, err
		}
	}
	if err := tooLittle(&s.Schedule, r.Rate); err != nil {
		return o, err
	}
	s.Config.Frame = s.Stack.FrameBytes(slices.Max(sizes))
	if w := o.aboveLine(flag, r.Rate, s.Stack, sizes, to.route.Link); w != "" {
		s.Warnings = append(s.Warnings, w)
	}
	return o, nil
}

// bulk lets a path whose calls are dear take as many packets a call as it needs,
// but at a rate no more than a millisecond has.
func (s *Send) bulk(pps float64) {
	switch {
	case pps == 0 || s.Schedule.Isochronous != nil:
		s.Schedule.Burst, s.Schedule.Most = s.Path.Bulk, s.Path.Bulk
	case s.Schedule.Most > 1:
		s.Schedule.Most = min(int(pps*1e-3), s.Path.Bulk)
	}
}

const (
	// spacedLeast is the rate from which a path spaces packets itself that can: it
	// waits with the processor's other work put off, which must not take long.
	spacedLeast = 20_000 // packets a second
	// spacedFor is how long it does at a time, which is how long a stop can take.
	spacedFor = 50 * time.Millisecond
	// spacedMost is the most packets that may leave together there.
	spacedMost = 16
)

// space lets the path space the packets of one steady flow itself, as few together as
// hold the rate; asked is how many were asked for.
func (s *Send) space(asked int, pps float64) {
	c := &s.Schedule
	if pps < spacedLeast || c.Flows > 1 || len(c.Sizes) > 1 || c.Profile != nil || c.Isochronous != nil || asked > spacedMost {
		return
	}
	c.Span = spacedFor
	if asked == 0 && c.Most > 1 { // not asked to be smooth
		c.Burst = s.Path.Together(pps)
	}
}

// fragment lets larger payloads through, and warns of it.
func (s *Send) fragment(r *SendRequest, l *limits) {
	l.most = frame.MaxPayload
	s.Config.Fragment = true
	s.Warnings = append(s.Warnings, fmt.Sprintf("each datagram of %d bytes leaves as %d fragments, and is lost if one of them is: MTU %d takes %d",
		r.Payload, l.fragments(r.Payload), l.mtu, l.mtu-s.Stack.BytesAt(units.L3, 0)))
}
