package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
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
	plan      *plan.Send
	sender    gen.Sender
	pacer     *pace.Pacer
	published gen.Progress
	opened    time.Time
	begun     time.Time // run's own
	last      left      // at the end of the last interval
	omitted   left      // at the end of the seconds that no total holds
	warmup    *warmup   // of a test between two linerates; nil for none

	lastFlows, omittedFlows []uint64 // packets of each flow at these times, where intervals tell of flows

	failed  bool // run did
	stats   pace.Stats
	drained gen.Completed
	notes   []string // for the report
}

// left is what had left by some time after the start.
type left struct {
	at             time.Duration
	packets, bytes uint64
	late, short    uint64
}

// openSending opens the path of a plan.
func openSending(p *plan.Send) (*sending, error) {
	if p.Warmup {
		p.Config.Sockets = slices.Concat(p.Config.Sockets, p.Config.Sockets)
	}
	sender, err := p.Path.Open(&p.Config)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	s := &sending{plan: p, sender: sender, opened: time.Now()}
	if p.Warmup {
		s.warmup = &warmup{
			Sender: sender, length: p.Omit, unpaced: p.Schedule.MicroRate == 0, flows: make([]uint64, p.Schedule.Flows),
		}
	}
	if p.PerFlow {
		s.published.Flows = make([]atomic.Uint64, p.Schedule.Flows)
		s.lastFlows = make([]uint64, p.Schedule.Flows)
		s.omittedFlows = make([]uint64, p.Schedule.Flows)
	}
	return s, nil
}

// describe adds to the report what opening the path showed.
func (s *sending) describe(c *result.Config) error {
	w, ok := s.sender.(gen.Windower)
	if !ok {
		return nil
	}
	c.WindowAsked = s.plan.Config.Window
	got, err := w.Window()
	c.WindowGot = got / kernelDoubles
	return err
}

// flow is where the packets go.
func (s *sending) flow() host.Flow {
	to, _ := netip.ParseAddrPort(s.plan.Report.Destination)
	return flow(to, s.plan.Config.Template.Headers.DstPorts, s.plan.Config.Template.Stamper.Format)
}

// socket is what the path says of itself.
func (s *sending) socket() *result.Socket {
	var c result.Config
	_ = s.describe(&c) // which has been said when it was opened
	return &result.Socket{Raw: s.plan.Path.Family == gen.Raw, WindowAsked: c.WindowAsked, WindowGot: c.WindowGot}
}

func (s *sending) run(ctx context.Context, show func(result.Interval)) error {
	s.begun = time.Now().Add(leadTime)
	start := linux.Monotonic() + int64(leadTime)
	s.pacer = pace.NewPacer(s.plan.Schedule, start)
	sender := s.sender
	if s.warmup != nil {
		s.warmup.start = start
		sender = s.warmup
	}
	done := make(chan error, 1)
	go func() { done <- gen.Transmit(ctx, sender, s.pacer, &s.published) }()

	ticks := newTicks(s.begun, s.plan.Interval, s.plan.Omit)
	defer ticks.stop()
	for {
		select {
		case err := <-done:
			if packets, _ := s.left(); s.plan.Interval > 0 && packets > s.last.packets {
				show(s.interval(time.Since(s.begun)))
			}
			s.failed = err != nil
			return err
		case <-ticks.C:
			at, omitted := ticks.next()
			iv := s.interval(at)
			if iv.Omitted = omitted; s.plan.Interval > 0 {
				show(iv)
			}
			if ticks.restarted() {
				s.omitted, s.begun = s.last, ticks.begun
				s.omitted.at, s.last.at = at, 0
				if s.warmup != nil {
					s.last.packets, s.last.bytes = 0, 0
				}
				copy(s.omittedFlows, s.lastFlows)
			}
		}
	}
}

// left is what left so far: of the warm-up while it lasts, and then of the rest.
func (s *sending) left() (packets, bytes uint64) {
	switch {
	case s.warmup == nil:
		return s.published.Packets.Load(), s.published.PayloadBytes.Load()
	case s.omitted.at == 0:
		return s.warmup.before.packets.Load(), s.warmup.before.bytes.Load()
	}
	return s.warmup.after.packets.Load(), s.warmup.after.bytes.Load()
}

// interval is what left since the last one.
func (s *sending) interval(at time.Duration) result.Interval {
	length := at - s.last.at
	now := left{at: at, late: s.published.Late.Load(), short: s.published.Shortfall.Load()}
	now.packets, now.bytes = s.left()
	packets, bytes := now.packets-s.last.packets, now.bytes-s.last.bytes
	iv := result.Interval{StartS: s.last.at.Seconds(), EndS: at.Seconds(), Sender: &result.SenderInterval{
		PayloadBytes: bytes,
		Seconds:      length.Seconds(),
		Rate:         rate(s.plan.Stack, packets, bytes, length),
		PacketsLeft: &result.PacketsLeft{
			Packets:     packets,
			LatePackets: now.late - s.last.late,
			Shortfall:   now.short - s.last.short,
		},
	}}
	s.last = now
	iv.Sender.Flows = s.flows(length)
	return iv
}

// flows is what left of each flow since the last interval.
func (s *sending) flows(length time.Duration) []result.SenderInterval {
	if len(s.published.Flows) < 2 {
		for i := range s.lastFlows {
			s.lastFlows[i] = s.published.Flows[i].Load()
		}
		return nil
	}
	flows := make([]result.SenderInterval, len(s.published.Flows))
	for i := range flows {
		now := s.published.Flows[i].Load()
		packets := now - s.lastFlows[i]
		s.lastFlows[i] = now
		bytes, number := packets*uint64(s.plan.Schedule.Sizes[0]), uint16(i)
		flows[i] = result.SenderInterval{
			Flow: &number, PayloadBytes: bytes, Seconds: length.Seconds(), Rate: rate(s.plan.Stack, packets, bytes, length),
			PacketsLeft: &result.PacketsLeft{Packets: packets},
		}
	}
	return flows
}

// finish waits for what the kernel took to leave, and tells the receiver the end.
func (s *sending) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var err error
	s.drained, err = s.sender.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// It will leave by and by: a slow link, or one that shapes.
		s.notes = append(s.notes, strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error())+" at the end")
		err = nil
	}
	s.stats = s.pacer.Finish()
	if untold := farewell(s.sender, s.plan, s.perFlow()); untold != nil && err == nil && !s.failed {
		s.notes = append(s.notes, fmt.Sprintf("the receiver was not told the end: %v", untold))
	}
	if g, ok := s.sender.(gen.Segmenter); ok {
		if _, refused := g.Segments(); refused {
			s.notes = append(s.notes, "the kernel took no super-frames: every packet left alone, as with --no-gso")
		}
	}
	if s.drained.Unreachable > 0 {
		s.notes = append(s.notes, fmt.Sprintf(
			"%s answered that nobody listens on the port, or that it is prohibited (ICMP)", s.plan.Report.Destination))
	}
	return err
}

// perFlow is what each flow sent, as the receiver numbers them.
func (s *sending) perFlow() []uint64 {
	sent := s.pacer.SentPerFlow()
	if s.warmup != nil {
		return s.warmup.counts(sent)
	}
	return sent
}

// sent is what left in all, less what was omitted.
func (s *sending) sent() *result.Sender {
	packets, bytes := s.stats.Packets-s.omitted.packets, s.stats.PayloadBytes-s.omitted.bytes
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
			LatePackets: s.stats.Late - s.omitted.late,
			Refused:     s.drained.Refused,
			Shortfall:   s.stats.Shortfall - s.omitted.short,
		},
	}
	if !math.IsNaN(s.stats.ErrorPPM) {
		r.RateErrorPPM = &s.stats.ErrorPPM
	}
	if cpu := s.published.CPU.Load(); cpu > 0 && s.stats.Packets > 0 && s.plan.Schedule.MicroRate == 0 {
		ns := float64(cpu) / float64(s.stats.Packets)
		r.NSPerPacket = &ns
	}
	r.Cadence = departures(s.stats.Cadence, s.plan.Stack, &s.plan.Schedule)
	if g, ok := s.sender.(gen.Segmenter); ok {
		if most, _ := g.Segments(); most > 1 {
			r.SuperPackets = most
		}
	}
	return r
}

func (s *sending) progress() string {
	elapsed := time.Since(s.opened)
	line := fmt.Sprintf("sending: %d packets in %.1f s", s.published.Packets.Load(), elapsed.Seconds())
	switch schedule := &s.plan.Schedule; {
	case schedule.Count > 0:
		line += fmt.Sprintf(" of %d", schedule.Count)
	case schedule.Duration > 0:
		line += fmt.Sprintf(", %.0f s to go", max(0, (schedule.Duration-elapsed).Seconds()))
	}
	return line
}

func (s *sending) close() error { return s.sender.Close() }
