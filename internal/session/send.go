package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

const (
	// leadTime lets the workers be on their threads before the first packet.
	leadTime = time.Millisecond
	// drainTime is how long what the kernel took may take to leave.
	drainTime = time.Second
	// progressEvery is how often the one line of a terminal is redrawn.
	progressEvery = 250 * time.Millisecond
)

// Send runs the sending half of a test. A report comes back whenever the test
// began, with what was measured until an error ended it. The sockets belong to
// the calling thread's network namespace.
func Send(ctx context.Context, p *plan.Send, version string, o Observer) (*result.Report, error) {
	sender, err := p.Path.Open(&p.Config)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	defer sender.Close()
	rep := newReport("send", version, p.Report, p.Warnings)
	if w, ok := sender.(gen.Windower); ok {
		rep.Config.WindowAsked = p.Config.Window
		got, err := w.Window()
		if err != nil {
			return nil, err
		}
		rep.Config.WindowGot = got / kernelDoubles
	}
	link, err := watch(p.Config.IfIndex)
	if err != nil {
		return nil, err
	}
	defer link.close()
	o.Started(rep)
	before, err := host.ReadCPU()
	if err != nil {
		return nil, err
	}

	running, stop := context.WithCancel(ctx)
	defer stop()
	start := linux.Monotonic() + int64(leadTime)
	pacer := pace.NewPacer(p.Schedule, start)
	var progress gen.Progress
	done := make(chan error, 1)
	go func() { done <- gen.Transmit(running, sender, pacer, &progress) }()

	show := sendIntervals{rep: rep, o: o, stack: p.Stack, progress: &progress, begun: time.Now().Add(leadTime)}
	err = link.explain(show.run(done, link, stop, p))
	after, errCPU := host.ReadCPU()

	drained, errDrain := drain(sender)
	stats := pacer.Finish()
	if errEnd := farewell(sender, p, pacer); errEnd != nil && err == nil {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the receiver was not told the end: %v", errEnd))
	}
	rep.Sender = sent(p, stats, drained, time.Duration(progress.CPU.Load()))
	if g, ok := sender.(gen.Segmenter); ok {
		most, refused := g.Segments()
		if most > 1 {
			rep.Sender.SuperPackets = most
		}
		if refused {
			rep.Warnings = append(rep.Warnings, "the kernel took no super-frames: every packet left alone, as with --no-gso")
		}
	}
	if errCPU == nil {
		rep.Hosts = append(rep.Hosts, thisHost("sender", before, after))
	}
	if drained.Unreachable > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf(
			"%s answered that nobody listens on the port, or that it is prohibited (ICMP)", p.Report.Destination))
	}
	if errors.Is(errDrain, context.DeadlineExceeded) {
		// It will leave by and by: a slow link, or one that shapes.
		rep.Warnings = append(rep.Warnings, strings.TrimSuffix(errDrain.Error(), ": "+context.DeadlineExceeded.Error())+" at the end")
		errDrain = nil
	}
	err = errors.Join(err, errDrain)
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}

// drain waits for what the kernel took to leave.
func drain(s gen.Sender) (gen.Completed, error) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return s.Drain(ctx)
}

// sent is what left.
func sent(p *plan.Send, stats pace.Stats, drained gen.Completed, cpu time.Duration) *result.Sender {
	s := &result.Sender{
		PayloadBytes: stats.PayloadBytes,
		Seconds:      stats.Span.Seconds(),
		Rate:         rate(p.Stack, stats.Packets, stats.PayloadBytes, stats.Span),
		SentPackets: &result.SentPackets{
			Packets:     stats.Packets,
			LatePackets: stats.Late,
			Refused:     drained.Refused,
			Shortfall:   stats.Shortfall,
		},
	}
	if !math.IsNaN(stats.ErrorPPM) {
		s.RateErrorPPM = &stats.ErrorPPM
	}
	if cpu > 0 && stats.Packets > 0 && p.Schedule.MicroRate == 0 {
		ns := float64(cpu) / float64(stats.Packets)
		s.NSPerPacket = &ns
	}
	s.Cadence = departures(stats.Cadence, p.Stack, &p.Schedule)
	return s
}

// sendIntervals shows a sender at work.
type sendIntervals struct {
	rep      *result.Report
	o        Observer
	stack    units.Stack
	progress *gen.Progress
	begun    time.Time

	last struct {
		at             time.Duration
		packets, bytes uint64
		late, short    uint64
	}
}

// run shows intervals until the worker is done, and stops it if the link fails.
func (s *sendIntervals) run(done <-chan error, link *link, stop context.CancelFunc, p *plan.Send) error {
	redraw := time.NewTicker(progressEvery)
	defer redraw.Stop()
	tick := newTicks(s.begun, p.Interval)
	defer tick.stop()
	for {
		select {
		case err := <-done:
			if p.Interval > 0 && s.progress.Packets.Load() > s.last.packets {
				s.interval(time.Since(s.begun))
			}
			return err
		case <-tick.C:
			s.interval(tick.next())
		case <-redraw.C:
			s.o.Progress(s.line(p))
		case event, ok := <-link.events:
			if link.failed(event, ok) {
				stop()
			}
		}
	}
}

// interval shows what left since the last one.
func (s *sendIntervals) interval(at time.Duration) {
	length := at - s.last.at
	now := s.last
	now.at = at
	now.packets, now.bytes = s.progress.Packets.Load(), s.progress.PayloadBytes.Load()
	now.late, now.short = s.progress.Late.Load(), s.progress.Shortfall.Load()
	packets, bytes := now.packets-s.last.packets, now.bytes-s.last.bytes
	iv := result.Interval{StartS: s.last.at.Seconds(), EndS: at.Seconds(), Sender: &result.SenderInterval{
		PayloadBytes: bytes,
		Seconds:      length.Seconds(),
		Rate:         rate(s.stack, packets, bytes, length),
		PacketsLeft: &result.PacketsLeft{
			Packets:     packets,
			LatePackets: now.late - s.last.late,
			Shortfall:   now.short - s.last.short,
		},
	}}
	s.last = now
	s.rep.Intervals = append(s.rep.Intervals, iv)
	s.o.Interval(s.rep, &iv)
}

// line says how far the test is.
func (s *sendIntervals) line(p *plan.Send) string {
	packets := s.progress.Packets.Load()
	elapsed := time.Since(s.begun)
	line := fmt.Sprintf("sending: %d packets in %.1f s", packets, elapsed.Seconds())
	switch {
	case p.Schedule.Count > 0:
		line += fmt.Sprintf(" of %d", p.Schedule.Count)
	case p.Schedule.Duration > 0:
		line += fmt.Sprintf(", %.0f s to go", max(0, (p.Schedule.Duration-elapsed).Seconds()))
	}
	return line
}
