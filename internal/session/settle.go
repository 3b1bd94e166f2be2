package session

import (
	"errors"
	"fmt"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
	"linerate/rx/track"
)

// settle closes the account of a receiver, and shows as the last interval what its
// end brought. What comes back with an error is what could be saved.
func (r *receiving) settle(show func(result.Interval)) (*result.Receiver, error) {
	if r.plan.Warmup {
		r.tracker.Keep(len(r.plan.Streams))
	}
	stack, last := r.stack(), r.tracker.Totals()
	res, err := r.tracker.Finish(readClock().beside(r.tracker.End()))
	r.leaveOut(&res.Summary, r.omitted.flows...)
	total := r.received(&res.Summary, stack)
	total.Foreign = res.Foreign
	if r.plan.Histogram && total.DelayNS != nil {
		total.DelayNS.Histogram = buckets(res.DelayHistogram)
	}
	total.Cadence = arrivals(res.Cadence, stack, total)
	r.notes = append(r.notes, contradiction(total.DelayNS)...)
	if cpu := r.outcome.CPU; cpu > 0 && res.Packets > 0 {
		ns := float64(cpu) / float64(res.Packets)
		total.NSPerPacket = &ns
	}
	r.flowsSeen = len(res.Flows)
	if len(res.Flows) > 1 {
		for _, f := range res.Flows {
			if i := r.streamOf(f.Number, f.From); i >= 0 && i < len(r.omitted.flows) && !r.plan.Warmup {
				r.leaveOut(&f.Summary, r.omitted.flows[i])
			}
			one := r.received(&f.Summary, stack)
			one.Flow = &f.Number
			total.Flows = append(total.Flows, *one)
		}
	}
	if n := r.tracker.OtherRuns(); n > 0 {
		r.notes = append(r.notes, fmt.Sprintf(
			"%d datagrams were of another run, and count as foreign: a second sender, or one that was restarted", n))
	}
	if s, ok := r.receiver.(rx.Splitter); ok {
		total.MergedFrames, total.MergedPackets = s.Merged().Frames, s.Merged().Datagrams
	}
	if m, ok := r.receiver.(rx.Mirror); ok && r.plan.Config.Reflect > 0 {
		reflected := m.Reflected()
		total.Reflected = &reflected
	}
	if f, ok := r.receiver.(rx.Framed); ok {
		r.notes = append(r.notes, oddities(f.Frames())...)
	}
	r.lastInterval(last, total.Lost, show)
	if res.Sent != nil && *res.Sent != total.Unique+total.Lost {
		err = errors.Join(err, fmt.Errorf("the account does not add up, which is a bug: %d sent are not %d unique and %d lost", *res.Sent, total.Unique, total.Lost))
	}
	return total, err
}

// leaveOut takes from a total what came of its flows in the seconds that no total
// holds.
func (r *receiving) leaveOut(s *track.Summary, flows ...track.FlowTotal) {
	if !r.omitted.over {
		return
	}
	for _, f := range flows {
		s.Packets -= f.Packets
		s.PayloadBytes -= f.PayloadBytes
		s.Unique -= f.Unique
		s.UniquePayloadBytes -= f.UniquePayloadBytes
		s.Lost -= min(s.Lost, f.Lost)
		s.Duplicates -= f.Duplicates
		s.Reordered -= f.Reordered
		s.BeyondWindow -= f.BeyondWindow
		s.Corrupt -= f.Corrupt
	}
	s.First = min(s.Last, r.start+int64(r.omitted.at))
	if s.Sent != nil {
		sent := s.Unique + s.Lost
		s.Sent = &sent
	}
}

// alike has a stock sender's account leave out what this end's does, in datagrams of
// so many bytes: by its own clock it left out others.
func (r *receiving) alike(d *result.Direction, size int) {
	if !r.omitted.over || d.Receiver.LossIsLowerBound {
		return
	}
	one := func(s *result.Sender, r *result.Receiver) {
		s.Packets, s.Seconds = r.Unique+r.Lost, r.Seconds
		s.PayloadBytes = s.Packets * uint64(size)
	}
	one(d.Sender, d.Receiver)
	if len(d.Sender.Flows) == len(d.Receiver.Flows) {
		for i := range d.Sender.Flows {
			one(&d.Sender.Flows[i], &d.Receiver.Flows[i])
		}
	}
}

// received makes the report of a summary.
func (r *receiving) received(s *track.Summary, stack units.Stack) *result.Receiver {
	total := &result.Receiver{
		PayloadBytes: s.PayloadBytes,
		ArrivedPackets: &result.ArrivedPackets{
			Packets:          s.Packets,
			Unique:           s.Unique,
			Lost:             s.Lost,
			LossIsLowerBound: s.Sent == nil,
			Duplicates:       s.Duplicates,
			JitterNS:         s.JitterNS,
		},
		Arrivals: &result.Arrivals{
			UniquePayloadBytes: s.UniquePayloadBytes,
			Reordered:          s.Reordered,
			ReorderExtentMax:   s.ReorderExtentMax,
			Gaps:               s.Bursts.Gaps,
			BeyondWindow:       s.BeyondWindow,
		},
	}
	if span := time.Duration(s.Last - s.First); s.Packets > 1 {
		// As many intervals as packets: to when the next one would have come.
		span += span / time.Duration(s.Packets-1)
		total.Seconds = span.Seconds()
		total.Rate = rate(stack, s.Unique, s.UniquePayloadBytes, span)
	}
	if sent := s.Unique + s.Lost; sent > 0 {
		ratio := float64(s.Lost) / float64(sent)
		total.LossRatio = &ratio
	}
	if s.Bursts.Gaps > 0 {
		total.LossBurst = &result.LossBurst{Max: s.Bursts.Max, P50: s.Bursts.P50()}
	}
	if r.plan.Config.Verify {
		total.Corrupt = &s.Corrupt
	}
	if v := s.IPDV; v != nil {
		total.IPDVNS = &result.Percentiles{P50: v.P50, P99: v.P99, P999: v.P999, Max: v.Max}
	}
	if v := s.PDV; v != nil {
		total.PDVNS = &result.Percentiles{P50: v.P50, P99: v.P99, P999: v.P999, Max: v.Max}
	}
	if d := s.Delay; d != nil {
		total.DelayNS = &result.Delay{Min: d.Min, P50: d.P50, P99: d.P99, P999: d.P999, Max: d.Max, Clock: d.Clock.String()}
		if d.Clock == track.Synchronised {
			total.DelayNS.ErrorBoundNS = &d.ErrorNS
		}
	}
	return total
}

// socket is what the path says of itself.
func (r *receiving) socket() (*result.Socket, error) {
	var c result.Config
	r.describe(&c)
	s := &result.Socket{Raw: r.raw(), WindowAsked: c.WindowAsked, WindowGot: c.WindowGot}
	drops, err := r.receiver.Drops()
	switch {
	case err == nil:
		s.Drops, s.RingDrops = &drops.Socket, &drops.Program
	case errors.Is(err, errors.ErrUnsupported):
		err = nil // the ledger says less here
	}
	return s, err
}

// raw reports whether the path takes frames from beneath the host's UDP.
func (r *receiving) raw() bool {
	_, framed := r.receiver.(rx.Framed)
	return framed
}

// oddities are what a raw path saw of frames that explains a strange result.
func oddities(f rx.Frames) []string {
	var w []string
	if f.Tagged > 0 {
		w = append(w, fmt.Sprintf("%d frames had a VLAN tag: id %d, priority %d", f.Tagged, f.TCI&0xfff, f.TCI>>13))
	}
	if f.Superframes > 0 {
		w = append(w, fmt.Sprintf("%d frames held several datagrams merged by GRO or GSO and could not be counted: ethtool -K IFACE gro off, or --rx udp", f.Superframes))
	}
	if f.BadChecksum > 0 {
		w = append(w, fmt.Sprintf("%d datagrams had a wrong UDP checksum and were not counted", f.BadChecksum))
	}
	if f.Malformed > 0 {
		w = append(w, fmt.Sprintf("%d frames to the port had lengths that contradict each other", f.Malformed))
	}
	if f.BeyondFlows > 0 {
		w = append(w, fmt.Sprintf("%d datagrams were of more flows than this path has room for, and count as foreign: use another --rx", f.BeyondFlows))
	}
	if f.Fragments > 0 {
		w = append(w, fmt.Sprintf("%d datagrams came in fragments; each counts by its first", f.Fragments))
	}
	return w
}
