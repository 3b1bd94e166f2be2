package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/result"
)

const (
	// leadTime lets the workers be on their threads before the first packet.
	leadTime = time.Millisecond
	// drainTime is how long what the kernel took may take to leave.
	drainTime = time.Second
)

// sending is the leg of packets that leave here.
type sending struct {
	plan    *plan.Send
	crew    *gen.Crew
	begun   moment
	last    progressAt // at the end of the last interval
	omitted progressAt // at the end of the seconds that no total holds
	warmup  *warmup    // of a test between two linerates; nil for none

	lastFlows, omittedFlows []uint64 // packets of each flow at these times, where intervals tell of flows

	failed  bool // run did
	stats   pace.Stats
	perFlow []uint64 // packets that left
	drained gen.Completed
	notes   []string // for the report
}

// progressAt is what had left by some time after the start.
type progressAt struct {
	at time.Duration
	gen.Progress
}

// openSending opens the path of a plan.
func openSending(p *plan.Send) (*sending, error) {
	s := &sending{plan: p}
	path := *p.Path
	if p.Warmup {
		p.Config.Sockets = slices.Concat(p.Config.Sockets, p.Config.Sockets)
		path.Open = s.openWarm
	}
	var err error
	if s.crew, err = path.Crew(&p.Config, p.Schedule, p.Workers, p.Placement); err != nil {
		return nil, plan.OpenError(err)
	}
	s.begun.set(time.Now())
	if p.PerFlow {
		s.lastFlows = make([]uint64, p.Schedule.Flows)
		s.omittedFlows = make([]uint64, p.Schedule.Flows)
	}
	return s, nil
}

// openWarm opens the path's sender behind a warm-up. It has one worker.
func (s *sending) openWarm(c *gen.Config) (gen.Sender, error) {
	sender, err := s.plan.Path.Open(c)
	if err != nil {
		return nil, err
	}
	s.warmup = &warmup{
		Sender: sender, length: s.plan.Omit, unpaced: s.plan.Schedule.MicroRate == 0, flows: make([]uint64, s.plan.Schedule.Flows),
	}
	return s.warmup, nil
}

// describe adds to the report what opening the path showed.
func (s *sending) describe(c *result.Config) error {
	got, err := s.crew.Window()
	if err == nil && got > 0 {
		c.WindowAsked, c.WindowGot = s.plan.Config.Window, got/kernelDoubles
	}
	return err
}

// flow is where the packets go.
func (s *sending) flow() host.Flow {
	to, _ := netip.ParseAddrPort(s.plan.Report.Destination)
	if s.plan.Config.Template.Headers.Dsts > 1 {
		to = netip.AddrPortFrom(netip.IPv6Unspecified(), to.Port()) // any
	}
	f := flow(to, s.plan.Config.Template.Headers.DstPorts, s.plan.Config.Template.Stamper.Format)
	f.Unwatched = s.plan.Unwatched
	return f
}

// socket is what the path says of itself.
func (s *sending) socket() *result.Socket {
	var c result.Config
	_ = s.describe(&c) // which has been said when it was opened
	return &result.Socket{Raw: s.plan.Path.Family == gen.Raw, WindowAsked: c.WindowAsked, WindowGot: c.WindowGot}
}

func (s *sending) run(ctx context.Context, show func(result.Interval)) error {
	begun := time.Now().Add(leadTime)
	s.begun.set(begun)
	start := linux.Monotonic() + int64(leadTime)
	if s.warmup != nil {
		s.warmup.start = start
	}
	done := make(chan error, 1)
	go func() { done <- s.crew.Transmit(ctx, start) }()

	ticks := newTicks(begun, s.plan.Interval, s.plan.Omit)
	defer ticks.stop()
	for {
		select {
		case err := <-done:
			if packets, _ := s.counts(); s.plan.Interval > 0 && packets > s.last.Packets {
				show(s.interval(s.begun.since()))
			}
			s.failed = err != nil
			if s.plan.Placement.Realtime && errors.Is(err, fs.ErrPermission) {
				err = plan.OpenError(err)
			}
			return err
		case <-ticks.C:
			at, omitted := ticks.next()
			iv := s.interval(at)
			if iv.Omitted = omitted; s.plan.Interval > 0 {
				show(iv)
			}
			if ticks.restarted() {
				s.begun.set(ticks.begun)
				s.omitted = s.last
				s.omitted.at, s.last.at = at, 0
				if s.warmup != nil {
					s.last.Packets, s.last.PayloadBytes = 0, 0
				}
				copy(s.omittedFlows, s.lastFlows)
			}
		}
	}
}

// counts are of what left so far: of the warm-up while it lasts, and then of the rest.
func (s *sending) counts() (packets, bytes uint64) {
	switch {
	case s.warmup == nil:
		all := s.crew.Progress()
		return all.Packets, all.PayloadBytes
	case s.omitted.at == 0:
		return s.warmup.before.packets.Load(), s.warmup.before.bytes.Load()
	}
	return s.warmup.after.packets.Load(), s.warmup.after.bytes.Load()
}

// interval is what left since the last one.
func (s *sending) interval(at time.Duration) result.Interval {
	length := at - s.last.at
	now := progressAt{at, s.crew.Progress()}
	now.Packets, now.PayloadBytes = s.counts()
	packets, bytes := now.Packets-s.last.Packets, now.PayloadBytes-s.last.PayloadBytes
	iv := result.Interval{StartS: s.last.at.Seconds(), EndS: at.Seconds(), Sender: &result.SenderInterval{
		PayloadBytes: bytes,
		Seconds:      length.Seconds(),
		Rate:         rate(s.plan.Stack, packets, bytes, length),
		IntervalSent: &result.IntervalSent{
			Packets:     packets,
			LatePackets: now.Late - s.last.Late,
			Shortfall:   now.Shortfall - s.last.Shortfall,
		},
	}}
	s.last = now
	iv.Sender.Flows = s.flows(length)
	return iv
}

// flows is what left of each flow since the last interval.
func (s *sending) flows(length time.Duration) []result.SenderInterval {
	if len(s.lastFlows) < 2 {
		for i := range s.lastFlows {
			s.lastFlows[i] = s.crew.Sent(i)
		}
		return nil
	}
	flows := make([]result.SenderInterval, len(s.lastFlows))
	for i := range flows {
		now := s.crew.Sent(i)
		packets := now - s.lastFlows[i]
		s.lastFlows[i] = now
		bytes, number := packets*uint64(s.plan.Schedule.Sizes[0]), uint16(i)
		flows[i] = result.SenderInterval{
			Flow: &number, PayloadBytes: bytes, Seconds: length.Seconds(), Rate: rate(s.plan.Stack, packets, bytes, length),
			IntervalSent: &result.IntervalSent{Packets: packets},
		}
	}
	return flows
}

// finish waits for what the kernel took to leave, and tells the receiver the end.
func (s *sending) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var err error
	s.drained, err = s.crew.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// It will leave by and by: a slow link, or one that shapes.
		s.notes = append(s.notes, strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error())+" at the end")
		err = nil
	}
	s.stats, s.perFlow = s.crew.Finish()
	told := s.perFlow
	if s.warmup != nil {
		told = s.warmup.counts(told)
	}
	if untold := farewell(s.crew, s.plan, told); untold != nil && err == nil && !s.failed {
		s.notes = append(s.notes, fmt.Sprintf("the receiver was not told the end: %v", untold))
	}
	if _, refused := s.crew.Segments(); refused {
		s.notes = append(s.notes, "the kernel took no super-frames: every packet left alone, as with --no-gso")
	}
	if s.drained.Unreachable > 0 {
		s.notes = append(s.notes, fmt.Sprintf(
			"%s answered that nobody listens on the port, or that it is prohibited (ICMP)", s.plan.Report.Destination))
	}
	return err
}

// sent is what left in all, less what was omitted.
func (s *sending) sent() *result.Sender {
	packets, bytes := s.stats.Packets-s.omitted.Packets, s.stats.PayloadBytes-s.omitted.PayloadBytes
	span := s.stats.Span - s.omitted.at
	if s.warmup != nil {
		packets, bytes = s.warmup.after.packets.Load(), s.warmup.after.bytes.Load()
		if packets == 0 {
			span = 0
		}
	}
	r := &result.Sender{
		PayloadBytes: bytes,
		Seconds:      span.Seconds(),
		Rate:         rate(s.plan.Stack, packets, bytes, span),
		SentPackets: &result.SentPackets{
			Packets: packets,
		},
		SentPacing: &result.SentPacing{
			LatePackets: s.stats.Late - s.omitted.Late,
			Refused:     s.drained.Refused,
			Shortfall:   s.stats.Shortfall - s.omitted.Shortfall,
		},
	}
	if b := s.stats.Bursts; b != nil {
		r.Bursts = &result.Bursts{Sent: b.Bursts, MeanBytes: b.Mean, StdDevBytes: b.StdDev}
	}
	if !math.IsNaN(s.stats.ErrorPPM) {
		r.RateErrorPPM = &s.stats.ErrorPPM
	}
	if cpu := s.crew.CPU(); cpu > 0 && s.stats.Packets > 0 && s.plan.Schedule.MicroRate == 0 {
		ns := float64(cpu) / float64(s.stats.Packets)
		r.NSPerPacket = &ns
	}
	r.Cadence = departures(s.stats.Cadence, s.plan.Stack, &s.plan.Schedule)
	r.Flows = s.sentFlows(span)
	if most, _ := s.crew.Segments(); most > 1 {
		r.SuperPackets = most
	}
	return r
}

// sentFlows is what left of each flow, where there are many and intervals told of
// them, too.
func (s *sending) sentFlows(span time.Duration) []result.Sender {
	if len(s.lastFlows) < 2 {
		return nil
	}
	var flows []result.Sender
	for i, f := range s.results(0) {
		number, packets, bytes := uint16(i), uint64(f.Packets-f.OmittedPackets), uint64(f.Bytes)
		flows = append(flows, result.Sender{
			Flow: &number, PayloadBytes: bytes, Seconds: span.Seconds(), Rate: rate(s.plan.Stack, packets, bytes, span),
			SentPackets: &result.SentPackets{Packets: packets},
		})
	}
	return flows
}

func (s *sending) progress() string {
	elapsed := s.begun.since()
	line := fmt.Sprintf("sending: %d packets in %.1f s", s.crew.Progress().Packets, elapsed.Seconds())
	switch schedule := &s.plan.Schedule; {
	case schedule.Count > 0:
		line += fmt.Sprintf(" of %d", schedule.Count)
	case schedule.Duration > 0:
		line += fmt.Sprintf(", %.0f s to go", max(0, (schedule.Duration-elapsed).Seconds()))
	}
	return line
}

func (s *sending) close() error { return s.crew.Close() }
