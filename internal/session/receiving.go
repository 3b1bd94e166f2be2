package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
	"linerate/rx/track"
)

// receiving is the leg of packets that come.
type receiving struct {
	plan     *plan.Receive
	receiver rx.Receiver
	tracker  *track.Tracker // the worker's while it runs
	since    time.Time      // of the ticks; its zero value stands for the first arrival
	coming   func(bool)     // see rx.Ticks; may be nil
	start    int64          // the same in ns of CLOCK_MONOTONIC; 0 for the first arrival
	begun    moment
	outcome  rx.Outcome
	packets  atomic.Uint64 // that had come at the last tick
	notes    []string      // for the report

	last    track.Totals // at the end of the last interval
	lastAt  time.Duration
	lost    uint64            // by all intervals so far
	flows   []track.FlowTotal // at the end of the last interval, where intervals show flows
	omitted omitted
	sent    []uint64 // of each stream, as its sender tells; nil if it does not

	flowsSeen int // in all, known once settled
}

// omitted is what had come by the end of the seconds that no total holds.
type omitted struct {
	at    time.Duration
	flows []track.FlowTotal
	over  bool
}

// openReceiving opens the path of a plan, in the calling thread's namespace.
func openReceiving(p *plan.Receive) (*receiving, error) {
	receiver, err := p.Path.OpenFan(&p.Config, p.Workers, p.Limits.Placement)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	r := &receiving{
		plan: p, receiver: receiver, tracker: track.New(p.Track),
		flows: make([]track.FlowTotal, len(p.Streams)),
	}
	r.begun.set(time.Now())
	if n, ok := receiver.(rx.Noted); ok && n.Note() != "" {
		r.notes = append(r.notes, n.Note())
	}
	return r, nil
}

// describe adds to the report what opening the path showed.
func (r *receiving) describe(c *result.Config) {
	if b, ok := r.receiver.(rx.Buffered); ok && b.Window() > 0 {
		c.WindowAsked, c.WindowGot = r.plan.Config.Window, b.Window()/kernelDoubles
	}
}

func (r *receiving) run(ctx context.Context, show func(result.Interval)) error {
	r.begun.set(time.Now())
	if !r.since.IsZero() {
		r.start = linux.Monotonic() + int64(time.Until(r.since))
	}
	ticks := rx.Ticks{Since: r.since, Every: r.plan.Interval, Omit: r.plan.Omit, Coming: r.coming}
	var err error
	r.outcome, err = rx.Count(ctx, r.receiver, r.tracker, r.plan.Limits, ticks, func() { r.tick(show) })
	if errors.Is(err, fs.ErrPermission) { // real-time priority
		err = plan.OpenError(err)
	}
	if r.outcome.Reason == rx.Silent {
		r.notes = append(r.notes, fmt.Sprintf(
			"no end marker came and the sender was silent for %v: what it sent last may be missing from the loss", r.plan.Limits.Silence))
	}
	return err
}

// tick shows the interval that ends. The worker calls it.
func (r *receiving) tick(show func(result.Interval)) {
	t := r.totals()
	r.packets.Store(t.Packets)
	at, over := r.lastAt+r.plan.Interval, false
	if omit := r.plan.Omit; omit > 0 && !r.omitted.over {
		if r.plan.Interval == 0 || at >= omit {
			at, over = omit, true
		}
	}
	if r.plan.Interval > 0 {
		iv := r.interval(t, at)
		iv.Omitted = r.plan.Omit > 0 && !r.omitted.over
		show(iv)
	}
	if over {
		r.omitted = omitted{at: at, flows: r.streams(), over: true}
		r.lastAt = 0
		if r.plan.Warmup { // what counts has flows of its own
			clear(r.omitted.flows)
			clear(r.flows)
			r.lost, r.last = 0, track.Totals{Foreign: t.Foreign}
		}
	}
}

// interval is what came since the last one. Late packets fill gaps of earlier
// intervals, so an interval's loss is provisional; the totals are not made of it.
func (r *receiving) interval(t track.Totals, at time.Duration) result.Interval {
	length := at - r.lastAt
	stack := r.stack()
	iv := r.between(&t.Counts, &r.last.Counts, t.JitterNS, stack, length)
	// What intervals showed as lost does not come back in later ones.
	iv.Lost = t.Lost - min(r.lost, t.Lost)
	iv.Foreign = t.Foreign - r.last.Foreign
	r.lost += iv.Lost
	if len(r.plan.Streams) > 1 {
		now := r.streams()
		for i := range now {
			f := r.between(&now[i].Counts, &r.flows[i].Counts, now[i].JitterNS, stack, length)
			number := uint16(i)
			f.Flow = &number
			iv.Flows = append(iv.Flows, *f)
		}
		r.flows = now
	}
	r.last = t
	shown := result.Interval{StartS: r.lastAt.Seconds(), EndS: at.Seconds(), Receiver: iv}
	r.lastAt = at
	return shown
}

// totals are the counts so far: of the warm-up while it lasts, and then of the
// rest.
func (r *receiving) totals() track.Totals {
	t := r.tracker.Totals()
	if !r.plan.Warmup {
		return t
	}
	t.Counts = track.Counts{}
	for _, f := range r.streams() {
		t.Counts.Add(f.Counts)
	}
	return t
}

// between is what came between two counts.
func (r *receiving) between(now, last *track.Counts, jitter *int64, stack units.Stack, length time.Duration) *result.ReceiverInterval {
	unique, bytes := now.Unique-last.Unique, now.UniquePayloadBytes-last.UniquePayloadBytes
	iv := &result.ReceiverInterval{
		PayloadBytes: now.PayloadBytes - last.PayloadBytes,
		Seconds:      length.Seconds(),
		Rate:         rate(stack, unique, bytes, length),
		IntervalArrived: &result.IntervalArrived{
			Packets:            now.Packets - last.Packets,
			UniquePayloadBytes: bytes,
			Unique:             unique,
			Lost:               now.Lost - min(last.Lost, now.Lost),
			Duplicates:         now.Duplicates - last.Duplicates,
			Reordered:          now.Reordered - last.Reordered,
			BeyondWindow:       now.BeyondWindow - last.BeyondWindow,
			JitterNS:           jitter,
		},
	}
	if r.plan.Config.Verify {
		corrupt := now.Corrupt - last.Corrupt
		iv.Corrupt = &corrupt
	}
	return iv
}

// lastInterval shows what came after the last whole one, and what the end of the
// test showed to be lost; t is from before it was settled.
func (r *receiving) lastInterval(t track.Totals, lost uint64, show func(result.Interval)) {
	t.Lost = lost
	start := r.start
	if start == 0 {
		start = t.First
	}
	if at := time.Duration(t.Last-start) - r.omitted.at; r.plan.Interval > 0 && (t.Packets > r.last.Packets || t.Lost > r.lost) {
		show(r.interval(t, max(at, r.lastAt+1)))
	}
}

const (
	// lag is how long nothing has to come for all to have come that was sent before,
	lag = 100 * time.Millisecond
	// and lags how often in a row: a busy host may not let us look in one of them.
	lags = 2
)

// catchUp counts what still comes after the sender is known to have stopped, until
// nothing does for a while. It is for after run.
func (r *receiving) catchUp(patience time.Duration) error {
	if r.settled() {
		return nil
	}
	end := time.Now().Add(patience)
	for quiet := 0; quiet < lags && time.Now().Before(end); {
		before := r.tracker.Totals().Packets
		limits := rx.Limits{Duration: lag}
		if _, err := rx.Count(context.Background(), r.receiver, r.tracker, limits, rx.Ticks{}, nil); err != nil {
			return err
		}
		if quiet++; r.tracker.Totals().Packets != before {
			quiet = 0
		}
	}
	return nil
}

// tell has what the sender says of each stream. It is for after run.
func (r *receiving) tell(sender []iperf3.StreamResult) {
	n := len(r.plan.Streams)
	if len(sender) < n {
		return
	}
	r.sent = make([]uint64, n)
	for i := range r.sent {
		packets, omitted := uint64(max(sender[i].Packets, 0)), uint64(max(sender[i].OmittedPackets, 0))
		if r.plan.Warmup {
			packets -= min(packets, omitted)
			r.tracker.Sent(uint16(n+i), probe.Source{}, omitted)
		}
		r.sent[i] = packets
		r.tracker.Sent(uint16(i), r.plan.Streams[i], packets)
	}
}

// await waits a while for what the sender is known to have sent and is missing.
func (r *receiving) await() error {
	if r.settled() {
		return nil
	}
	limits := rx.Limits{Drain: r.plan.Limits.Drain}
	_, err := rx.Count(context.Background(), r.receiver, r.tracker, limits, rx.Ticks{}, nil)
	return err
}

// settled reports whether nothing more is to be had of the receiver: it has waited
// for what was missing after the sender's last word, or counts in the kernel no
// longer.
func (r *receiving) settled() bool {
	_, counter := r.receiver.(rx.Counter)
	return counter || r.outcome.Reason == rx.Finished
}

// length is the time that the totals are of.
func (r *receiving) length() time.Duration {
	t := r.tracker.Totals()
	start := r.start
	if start == 0 {
		start = t.First
	}
	return max(0, time.Duration(t.Last-start)-r.omitted.at)
}

// finish has nothing to do: who tells of the end is the sender.
func (r *receiving) finish() error { return nil }

func (r *receiving) progress() string {
	return fmt.Sprintf("counting: %.0f s, %d packets", r.begun.since().Seconds(), r.packets.Load())
}

func (r *receiving) close() error { return r.receiver.Close() }

// stack is what stands around the payloads, as far as the path shows it: a UDP
// socket does not tell of a VLAN tag.
func (r *receiving) stack() units.Stack {
	s := units.Stack{IPv6: r.tracker.IPv6()}
	if f, ok := r.receiver.(rx.Framed); ok && f.Frames().Tagged > 0 {
		s.VLANTags = 1
	}
	return s
}
