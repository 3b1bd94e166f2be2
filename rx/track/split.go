package track

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"linerate/internal/probe"
)

// An origin is what the trackers of one test agree on: the run that counts, and
// the transit that stands for 0, in ns.
type origin struct {
	run  uint16
	base int64
}

// Split makes n trackers that between them do what t would do, each for a goroutine
// of its own: every flow has to go to one of them alone. Merge brings what they
// counted together. Config.Most can't be split.
func (t *Tracker) Split(n int) []*Tracker {
	parts := make([]*Tracker, n)
	agreed := new(atomic.Pointer[origin])
	for i := range parts {
		parts[i] = New(t.config)
		parts[i].agreed = agreed
	}
	return parts
}

// agree settles the origin with the other trackers: the first to have a packet
// that counts decides. It reports whether that one's run is this tracker's.
func (t *Tracker) agree() bool {
	if t.agreed == nil {
		return true
	}
	mine := &origin{t.run, t.base}
	if !t.agreed.CompareAndSwap(nil, mine) {
		mine = t.agreed.Load()
	}
	t.base = mine.base
	return t.run == mine.run
}

// otherRun reports whether a run is known not to be the test's.
func (t *Tracker) otherRun(run uint16) bool {
	if t.started || t.agreed == nil {
		return t.started && run != t.run
	}
	o := t.agreed.Load()
	return o != nil && run != o.run
}

// Snapshot copies what a tracker counted so far, for Merge in another goroutine. It
// lacks what only Finish looks at.
func (t *Tracker) Snapshot() *Tracker {
	s := &Tracker{
		config: t.config, started: t.started, run: t.run, base: t.base, first: t.first, last: t.last, source: t.source,
		foreign: t.foreign, otherRuns: t.otherRuns, end: t.end, flows: make([]*flow, len(t.flows)),
	}
	flows := make([]flow, len(t.flows))
	for i, f := range t.flows {
		to := &flows[i]
		to.number, to.from, to.sent = f.number, f.from, f.sent
		to.Counts, to.next, to.vary, to.extent = f.Counts, f.next, f.vary, f.extent
		to.first, to.last = f.first, f.last
		s.flows[i] = to
	}
	return s
}

// Merge makes t what it would be if all that its parts have seen had been handed to
// it, and takes them over; it may be called again with the parts' later state. Only
// how evenly packets came is unknown where several parts had some.
// The error tells of flows that went to several of them: none can say in which
// order such a flow's packets came, and only those of its first part count.
func (t *Tracker) Merge(parts []*Tracker) error {
	merged := &Tracker{config: t.config, seqBits: t.seqBits, timeBits: t.timeBits, skew: t.skew}
	if t.sources != nil {
		merged.sources = make(map[probe.Source]*flow)
	}
	for _, p := range parts {
		merged.foreign += p.foreign
		merged.otherRuns += p.otherRuns
		if merged.end == nil {
			merged.end = p.end
		}
		if !p.started {
			continue
		}
		merged.watch = p.watch
		if merged.started {
			merged.watch = nil // nobody saw how the packets of several came one after the other
		}
		if !merged.started || p.first < merged.first {
			merged.first, merged.source = p.first, p.source
		}
		merged.started, merged.run, merged.base = true, p.run, p.base
		merged.last = max(merged.last, p.last)
		merged.flows = append(merged.flows, p.flows...)
	}
	if merged.end != nil && merged.started && merged.end.Run != merged.run {
		merged.end = nil // a straggler that a queue without packets had
	}
	err := merged.index()
	merged.share(parts)
	merged.skew.merge(parts)
	*t = *merged
	return err
}

// index files merged flows in the order of their first packets.
func (t *Tracker) index() (err error) {
	slices.SortStableFunc(t.flows, func(a, b *flow) int { return cmp.Compare(a.first, b.first) })
	flows := t.flows[:0]
	for i, f := range t.flows {
		known := t.sources[f.from]
		if t.config.Format == probe.Native {
			t.makeRoom(f.number)
			known = t.numbered[f.number]
		} else {
			f.number = uint16(i)
		}
		if known != nil {
			t.foreign += f.Packets
			err = fmt.Errorf("flow %d came to several threads, which breaks its order: use --threads 1", known.number)
			continue
		}
		if t.config.Format == probe.Native {
			t.numbered[f.number] = f
		} else {
			t.sources[f.from] = f
		}
		flows = append(flows, f)
		t.packets += f.Packets
		t.tell(f)
	}
	t.flows = flows
	return err
}

// share gives the flows beyond ownDelays one distribution together, as if they had
// appeared one after the other. Those of a Snapshot have none.
func (t *Tracker) share(parts []*Tracker) {
	var shared []*delays
	for _, p := range parts {
		if p.later != nil {
			shared = append(shared, p.later)
		}
	}
	for i, f := range t.flows {
		if i >= ownDelays && f.delays != nil && !slices.Contains(shared, f.delays) {
			shared = append(shared, f.delays)
		}
	}
	if len(shared) == 0 {
		return
	}
	t.later = newDelays()
	for _, d := range shared {
		t.later.merge(d)
	}
	for _, f := range t.flows {
		if slices.Contains(shared, f.delays) {
			f.delays = t.later
		}
	}
}

// merge takes what those of several trackers have together.
func (s *skew) merge(parts []*Tracker) {
	var from []*skew
	var samples []KernelSample
	for _, p := range parts {
		if p.skew.sample.seen > 0 {
			from = append(from, &p.skew)
			samples = append(samples, p.skew.sample.drawn())
		}
	}
	if len(from) == 0 {
		return
	}
	s.sample.load(samples)
	slices.SortFunc(from, func(a, b *skew) int { return cmp.Compare(a.step, b.step) })
	open := from[len(from)-1] // its step is left to be closed with the test
	var floor, roof []point
	s.first = open.first
	for _, o := range from {
		if o != open {
			o.close()
		}
		floor, roof = append(floor, o.floor...), append(roof, o.roof...)
		s.first = min(s.first, o.first)
	}
	for _, o := range from {
		s.sum += o.sum + float64(o.points)*float64(o.first-s.first)
		s.points += o.points
	}
	s.step = open.step
	s.low, s.high = s.floor.addAll(floor, open.low), s.roof.addAll(roof, open.high)
}

// addAll adds points in whatever order they come, and returns the one that follows
// them: moved on, if need be, as no two may be of one time.
func (h *hull) addAll(points []point, then point) point {
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.sent, b.sent) })
	last := int64(math.MinInt64)
	for _, p := range points {
		p.sent = max(p.sent, last+1)
		h.add(p)
		last = p.sent
	}
	then.sent = max(then.sent, last+1)
	return then
}
