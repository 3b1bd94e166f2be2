package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// Replay sends a capture. A report comes back whenever it began, with what left
// until an error ended it. The socket belongs to the calling thread's network
// namespace.
func Replay(ctx context.Context, p *plan.Replay, version string, o Observer) (*result.Report, error) {
	sender, err := gen.OpenFrames(&p.Config)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	r := &replaying{plan: p, sender: sender, total: math.MaxUint64}
	if p.Loops > 0 {
		r.total = p.Loops * uint64(len(p.Frames))
	}
	defer r.close()
	rep := newReport("replay", version, p.Report, nil)
	rep.Replay = &p.Capture
	if n := p.Capture.Mended; n > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf(
			"checksums of %d frames were wrong in the capture, as they are where an interface finishes them, and were mended", n))
	}
	if w, ok := sender.(gen.Windower); ok {
		got, err := w.Window()
		if err != nil {
			return nil, err
		}
		rep.Config.WindowAsked, rep.Config.WindowGot = p.Config.Window, got/kernelDoubles
	}
	c, err := newConductor(rep, o, "sender", p.Config.IfIndex)
	if err != nil {
		return nil, err
	}
	defer c.close()
	o.Started(rep)
	err = c.conduct(ctx, r)
	c.board.end()
	rep.Sender = r.sent()
	rep.Hosts = []result.Host{*c.host()}
	rep.Warnings = append(rep.Warnings, r.notes...)
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}

// replaying is the leg of a capture's frames.
type replaying struct {
	plan      *plan.Replay
	sender    gen.FrameSender
	player    *pace.Player
	published gen.Played
	total     uint64     // frames to send
	last      progressAt // at the end of the last interval

	stats   pace.Stats
	drained gen.Completed
	notes   []string
}

func (r *replaying) run(ctx context.Context, show func(result.Interval)) error {
	begun := time.Now().Add(leadTime)
	r.player = pace.NewPlayer(r.plan.Timeline, r.total, linux.Monotonic()+int64(leadTime))
	done := make(chan error, 1)
	go func() { done <- gen.Replay(ctx, r.sender, r.plan.Frames, r.player, &r.published) }()

	ticks := newTicks(begun, r.plan.Interval, 0)
	defer ticks.stop()
	for {
		select {
		case err := <-done:
			if r.plan.Interval > 0 && r.published.Packets.Load() > r.last.Packets {
				show(r.interval(time.Since(begun)))
			}
			return err
		case <-ticks.C:
			at, _ := ticks.next()
			show(r.interval(at))
		}
	}
}

// interval is what left since the last one.
func (r *replaying) interval(at time.Duration) result.Interval {
	now := progressAt{at, gen.Progress{Packets: r.published.Packets.Load(), Late: r.published.Late.Load()}}
	length := (at - r.last.at).Seconds()
	s := &result.SenderInterval{
		Seconds:      length,
		IntervalSent: &result.IntervalSent{Packets: now.Packets - r.last.Packets, LatePackets: now.Late - r.last.Late},
	}
	s.PayloadBytes, s.Rate = r.plan.Bytes(r.last.Packets, now.Packets, length)
	iv := result.Interval{StartS: r.last.at.Seconds(), EndS: at.Seconds(), Sender: s}
	r.last = now
	return iv
}

// finish waits for what the kernel took to leave.
func (r *replaying) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var err error
	r.drained, err = r.sender.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		r.notes = append(r.notes, "what the kernel took still waits to leave at the end")
		err = nil
	}
	r.stats = r.player.Finish()
	return err
}

// sent is what left in all.
func (r *replaying) sent() *result.Sender {
	s := &result.Sender{
		Seconds:     r.stats.Span.Seconds(),
		SentPackets: &result.SentPackets{Packets: r.drained.Packets},
		SentPacing: &result.SentPacing{
			LatePackets: r.stats.Late,
			Refused:     r.drained.Refused,
		},
	}
	if r.stats.Cadence != nil {
		s.LongestBurst = r.stats.Cadence.LongestRun
	}
	s.PayloadBytes, s.Rate = r.plan.Bytes(0, r.drained.Packets, s.Seconds)
	if !math.IsNaN(r.stats.ErrorPPM) {
		s.RateErrorPPM = &r.stats.ErrorPPM
	}
	return s
}

// progress says how far the replay is.
func (r *replaying) progress() string {
	sent := r.published.Packets.Load()
	if r.plan.Loops == 0 {
		return fmt.Sprintf("%d frames sent, round %d", sent, sent/uint64(len(r.plan.Frames))+1)
	}
	return fmt.Sprintf("%d of %d frames sent", sent, r.total)
}

func (r *replaying) close() error { return r.sender.Close() }
