package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"linerate/internal/host"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
	"linerate/rx/track"
)

// Receive runs the receiving half of a test. A report comes back whenever the
// path opened, with what was counted until an error ended it. The sockets belong
// to the calling thread's network namespace.
func Receive(ctx context.Context, p *plan.Receive, version string, o Observer) (*result.Report, error) {
	receiver, err := p.Path.Open(&p.Config)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	defer receiver.Close()
	rep := newReport("recv", version, p.Report, p.Warnings)
	if b, ok := receiver.(rx.Buffered); ok {
		rep.Config.WindowAsked, rep.Config.WindowGot = p.Config.Window, b.Window()/kernelDoubles
	}
	if n, ok := receiver.(rx.Noted); ok && n.Note() != "" {
		rep.Warnings = append(rep.Warnings, n.Note())
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

	c := counting{plan: p, rep: rep, o: o, receiver: receiver, tracker: track.New(p.Track)}
	if c.before, err = host.ReadSnapshot(p.Config.IfIndex); err != nil {
		c.before = nil // the ledger knows less
	}
	reason, err := c.run(ctx, link)
	after, errCPU := host.ReadCPU()
	if errCPU == nil {
		rep.Hosts = append(rep.Hosts, thisHost("receiver", before, after))
	}
	if reason == rx.Silent {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf(
			"no end marker came and the sender was silent for %v: what it sent last may be missing from the loss", p.Limits.Silence))
	}
	last := snapshot{c.tracker.Totals(), c.stack()}
	err = errors.Join(err, c.settle())
	c.lastInterval(last)
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}

// counting is a receiver at work.
type counting struct {
	plan     *plan.Receive
	rep      *result.Report
	o        Observer
	receiver rx.Receiver
	tracker  *track.Tracker // the worker's while it runs
	before   *host.Snapshot // this host's counters at the start; nil if unknown

	last   track.Totals  // at the end of the last interval
	lastAt time.Duration // after the first arrival
	lost   uint64        // by all intervals so far
}

// snapshot is what a worker shows of its work at a tick.
type snapshot struct {
	totals track.Totals
	stack  units.Stack
}

// run counts until the worker ends, and stops it if the link fails.
func (c *counting) run(ctx context.Context, link *link) (reason rx.Reason, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	snapshots := make(chan snapshot, 64) // so that a slow terminal does not hold the worker
	go func() {
		defer close(snapshots)
		reason, err = rx.Count(running, c.receiver, c.tracker, c.plan.Limits, c.plan.Interval,
			func(t track.Totals) { snapshots <- snapshot{t, c.stack()} })
	}()
	redraw := time.NewTicker(progressEvery)
	defer redraw.Stop()
	begun := time.Now()
	for {
		select {
		case snap, more := <-snapshots:
			if more {
				c.interval(snap, c.lastAt+c.plan.Interval)
				continue
			}
			if errors.Is(err, fs.ErrPermission) { // real-time priority
				return reason, plan.OpenError(err)
			}
			return reason, link.explain(err)
		case <-redraw.C:
			c.o.Progress(fmt.Sprintf("counting: %.0f s, %d packets", time.Since(begun).Seconds(), c.last.Packets))
		case event, ok := <-link.events:
			if link.failed(event, ok) {
				stop()
			}
		}
	}
}

// interval shows what came since the last one. Late packets fill gaps of earlier
// intervals, so an interval's loss is provisional; the totals are not made of it.
func (c *counting) interval(snap snapshot, at time.Duration) {
	length := at - c.lastAt
	t := snap.totals
	now, last := t.Counts, c.last.Counts
	unique, bytes := now.Unique-last.Unique, now.UniquePayloadBytes-last.UniquePayloadBytes
	r := &result.ReceiverInterval{
		PayloadBytes: now.PayloadBytes - last.PayloadBytes,
		Seconds:      length.Seconds(),
		Rate:         rate(snap.stack, unique, bytes, length),
		PacketsCame: &result.PacketsCame{
			Packets:            now.Packets - last.Packets,
			UniquePayloadBytes: bytes,
			Unique:             unique,
			Lost:               now.Lost - min(c.lost, now.Lost),
			Duplicates:         now.Duplicates - last.Duplicates,
			Reordered:          now.Reordered - last.Reordered,
			BeyondWindow:       now.BeyondWindow - last.BeyondWindow,
			Foreign:            t.Foreign - c.last.Foreign,
			JitterNS:           t.JitterNS,
		},
	}
	c.lost += r.Lost
	if c.plan.Config.Verify {
		corrupt := now.Corrupt - last.Corrupt
		r.Corrupt = &corrupt
	}
	iv := result.Interval{StartS: c.lastAt.Seconds(), EndS: at.Seconds(), Receiver: r}
	c.last, c.lastAt = t, at
	c.rep.Intervals = append(c.rep.Intervals, iv)
	c.o.Interval(c.rep, &iv)
}

// lastInterval shows what came after the last whole one, and what the end of the
// test showed to be lost.
func (c *counting) lastInterval(snap snapshot) {
	t := &snap.totals
	t.Lost = c.rep.Receiver.Lost
	if at := time.Duration(t.Last - t.First); c.plan.Interval > 0 && (t.Packets > c.last.Packets || t.Lost > c.lost) {
		c.interval(snap, max(at, c.lastAt+1))
	}
}
