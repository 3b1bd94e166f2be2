package track

import (
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
)

// A packet is one arrival in a test.
type packet struct {
	flow     uint16
	seq      uint64
	sent, at int64
	size     int
}

// A model counts by the definitions, with memory for every packet.
type model struct {
	first  uint64 // number from which on it counts
	next   uint64
	seen   map[uint64]bool
	copies []packet // first copies in order of arrival
	most   []uint64 // the greatest number among the first copies up to each
	want   Summary  // what remains is in the fields above
	delays []int64
	ipdv   []int64
}

// newModel has room for some packets, to be quick.
func newModel(first uint64, packets int) *model {
	return &model{
		first: first, next: first, seen: make(map[uint64]bool, packets),
		copies: make([]packet, 0, packets), most: make([]uint64, 0, packets), delays: make([]int64, 0, packets),
	}
}

func (m *model) add(p packet) {
	if m.want.Packets == 0 {
		m.want.First = p.at
	}
	m.want.Last = p.at
	m.want.Packets++
	m.want.PayloadBytes += uint64(p.size)
	switch {
	case p.seq+Window < m.next:
		m.want.BeyondWindow++
		return
	case m.seen[p.seq]:
		m.want.Duplicates++
		return
	case p.seq < m.next:
		m.want.Reordered++
		earliest := sort.Search(len(m.most), func(i int) bool { return m.most[i] > p.seq })
		m.want.ReorderExtentMax = max(m.want.ReorderExtentMax, uint64(len(m.copies)-earliest))
	}
	m.next = max(m.next, p.seq+1)
	m.seen[p.seq] = true
	m.want.Unique++
	m.want.UniquePayloadBytes += uint64(p.size)
	if n := len(m.copies); n > 0 && m.copies[n-1].seq+1 == p.seq {
		m.ipdv = append(m.ipdv, abs(p.at-p.sent-m.delays[n-1]))
	} else if n > 0 {
		m.want.IPDVUndefined++
	}
	m.copies = append(m.copies, p)
	m.most = append(m.most, m.next-1)
	m.delays = append(m.delays, p.at-p.sent)
}

// summary is what the tracker should say once the sender's count is known, or
// nil where it isn't; but for the distributions.
func (m *model) summary(sent *uint64) Summary {
	s := m.want
	end := m.next
	if sent != nil {
		s.Sent, end = sent, *sent
	}
	var run uint64
	for seq := m.first; seq < end; seq++ {
		switch {
		case !m.seen[seq]:
			run++
		case run > 0:
			s.Bursts.add(run)
			run = 0
		}
	}
	if run > 0 {
		s.Bursts.add(run)
	}
	s.Lost = end - m.first - s.Unique
	if len(m.delays) > 1 {
		var jitter int64
		for i, d := range m.delays[1:] {
			jitter += abs(d-m.delays[i]) - (jitter+8)>>4
		}
		jitter >>= 4
		s.JitterNS = &jitter
	}
	return s
}

// distribution checks percentiles against the values that they are of.
func distribution(t interface{ Errorf(string, ...any) }, name string, got *Percentiles, values []int64, from int64) {
	if len(values) == 0 {
		if got != nil {
			t.Errorf("%s of nothing: %+v", name, got)
		}
		return
	}
	if got == nil {
		t.Errorf("%s: none", name)
		return
	}
	slices.Sort(values)
	n := len(values)
	at := func(p float64) int64 { return values[int(math.Ceil(p*float64(n)-1e-9))-1] }
	want := Percentiles{uint64(n), values[0], at(.5), at(.99), at(.999), values[n-1]}
	near := cmp.Comparer(func(a, b int64) bool { return abs(a-b) <= max(abs(a-from), abs(b-from))/128 })
	if diff := cmp.Diff(want, *got, near); diff != "" || got.Min != want.Min || got.Max != want.Max {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// resume puts a new flow into the state after count packets in order.
func resume(t *Tracker, flow uint16, count uint64) {
	f := t.flow(flow, probe.Source{})
	f.next, f.Unique, f.Packets = count, count, count
}

// feed hands packets to a native tracker.
func feed(t *Tracker, packets ...packet) {
	s := probe.Stamper{Run: 9}
	b := make([]byte, probe.NativeSize)
	for _, p := range packets {
		s.Put(b, p.flow, p.seq, p.sent)
		t.Datagram(b, p.size, probe.Source{}, p.at)
	}
}

// end hands over an end marker of what each flow sent.
func end(t *Tracker, sent ...uint64) {
	b := probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: probe.CompressCounts(sent)})
	t.Datagram(b, len(b), probe.Source{}, 0)
}

var numbers = cmp.AllowUnexported(Bursts{})

// BC-050: over the borders of 32 bits, of 48 bits on the wire, and of 2^53, too.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets, firsts := arrivals(t)
		tracker := New(Config{})
		models := make([]*model, len(firsts))
		for flow, first := range firsts {
			models[flow] = newModel(first, 0)
			if first > 0 {
				resume(tracker, uint16(flow), first)
			}
		}
		for _, p := range packets {
			models[p.flow].add(p)
		}
		feed(tracker, packets...)

		var sent []uint64
		if rapid.Bool().Draw(t, "marker") {
			for _, m := range models {
				sent = append(sent, m.next+rapid.SampledFrom([]uint64{0, 1, 100, 3 * Window}).Draw(t, "tail"))
			}
			end(tracker, sent...)
		}
		r, err := tracker.Finish(Settlement{Clock: Same})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, r, models, packets, firsts, sent)
	})
}

// arrivals draws a stream of some flows, each from some first number on: in
// order, with holes, copies, and packets that come late.
func arrivals(t *rapid.T) (packets []packet, firsts []uint64) {
	firsts = rapid.SliceOfN(rapid.SampledFrom([]uint64{0, 1<<32 - 300, 1<<48 - 300, 1<<53 - 5}), 1, 3).Draw(t, "firsts")
	next := slices.Clone(firsts)
	now := int64(1e15) // more than 2^48 ns
	add := func(flow int, seq uint64) {
		now += rapid.Int64Range(0, 2000).Draw(t, "gap")
		delay := rapid.SampledFrom([]int64{30, 250, 10_000, 1_000_000, -5000}).Draw(t, "delay")
		packets = append(packets, packet{uint16(flow), seq, now - delay, now, 100 + int(seq%50)})
		next[flow] = max(next[flow], seq+1)
	}
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		flow := rapid.IntRange(0, len(firsts)-1).Draw(t, "flow")
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0:
			for range rapid.IntRange(1, 80).Draw(t, "in order") {
				add(flow, next[flow])
			}
		case 1:
			hole := rapid.SampledFrom([]uint64{1, 2, 63, 64, 65, Window - 1, Window, Window + 1, 3 * Window})
			add(flow, next[flow]+hole.Draw(t, "hole"))
		case 2, 3:
			back := rapid.Uint64Range(1, rapid.SampledFrom([]uint64{3, 100, 2 * Window}).Draw(t, "far"))
			for range rapid.IntRange(1, 20).Draw(t, "times") {
				if back := back.Draw(t, "back"); next[flow]-firsts[flow] >= back {
					add(flow, next[flow]-back)
				}
			}
		}
	}
	return packets, firsts
}

// compare checks a result against the flows' models. A nil sent is unknown.
func compare(t interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, r Result, models []*model, packets []packet, firsts, sent []uint64) {
	var exact int64 // delays are exact close to the first
	if len(packets) > 0 {
		exact = packets[0].at - packets[0].sent
	}
	var want []Flow
	var measured []*model
	for flow, m := range models {
		var count *uint64
		if sent != nil {
			count = &sent[flow]
		}
		if len(m.copies) == 0 && (sent == nil || sent[flow] == 0) {
			continue
		}
		f := Flow{Number: uint16(flow), Summary: m.summary(count)}
		f.Packets += firsts[flow] // see resume
		f.Unique += firsts[flow]
		want = append(want, f)
		measured = append(measured, m)
	}
	if len(want) != len(r.Flows) {
		t.Fatalf("%d flows, want %d", len(r.Flows), len(want))
	}
	var delays, ipdv []int64
	total := Summary{}
	for i, f := range r.Flows {
		m := measured[i]
		if f.Delay != nil {
			distribution(t, "flow's delay", &f.Delay.Percentiles, m.delays, exact)
		} else if len(m.delays) > 0 {
			t.Errorf("no delay in %+v", f)
		}
		distribution(t, "flow's ipdv", f.IPDV, m.ipdv, 0)
		delays, ipdv = append(delays, m.delays...), append(ipdv, m.ipdv...)
		f.Delay, f.IPDV, f.PDV = nil, nil, nil
		total.Add(f.Counts)
		total.Bursts.merge(&f.Bursts)
		total.ReorderExtentMax = max(total.ReorderExtentMax, f.ReorderExtentMax)
		if firsts[f.Number] > 0 { // resumed: it had a first packet before these
			f.First = want[i].First
			if len(m.copies) < 2 {
				f.JitterNS = nil
			}
		}
		if diff := cmp.Diff(want[i], f, numbers); diff != "" {
			t.Errorf("flow %d (-want +got):\n%s", i, diff)
		}
	}
	distribution(t, "ipdv", r.IPDV, ipdv, 0)
	if r.Delay != nil {
		distribution(t, "delay", &r.Delay.Percentiles, delays, exact)
	}
	if diff := cmp.Diff(total.Counts, r.Counts); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(total.Bursts, r.Bursts, numbers); diff != "" || total.ReorderExtentMax != r.ReorderExtentMax {
		t.Errorf("total's bursts (-want +got):\n%s", diff)
	}
}

func TestMillionPackets(t *testing.T) {
	const n = 1_000_000
	every := func(k uint64) func(uint64) bool { return func(seq uint64) bool { return seq%k == k-1 } }
	faults := []struct {
		name             string
		drop, copy, swap func(uint64) bool
	}{
		{name: "every 1000th lost", drop: every(1000)},
		{name: "every 777th doubled", copy: every(777)},
		{name: "5000 lost in a row", drop: func(seq uint64) bool { return seq >= 300_000 && seq < 305_000 }},
		{name: "neighbours swapped", swap: every(10)},
	}
	all := faults[0]
	all.name, all.copy, all.swap = "all", faults[1].copy, faults[3].swap
	all.drop = func(seq uint64) bool { return faults[0].drop(seq) || faults[2].drop(seq) }
	wants := []Counts{
		{Lost: 1000},
		{Duplicates: 1287},
		{Lost: 5000},
		{Reordered: 99_999}, // the last packet has no neighbour
		{Lost: 5995},        // the rest comes from the model
	}
	for i, c := range append(faults, all) {
		hit := func(f func(uint64) bool, seq uint64) bool { return f != nil && f(seq) }
		packets := make([]packet, 0, n+n/777)
		send := func(seq uint64) {
			if hit(c.drop, seq) {
				return
			}
			sent := int64(seq) * 1000
			p := packet{0, seq, sent, sent + 40_000 + int64(seq%7*100), 18}
			packets = append(packets, p)
			if hit(c.copy, seq) {
				packets = append(packets, p)
			}
		}
		for seq := uint64(0); seq < n; seq++ {
			if hit(c.swap, seq) && seq+1 < n {
				send(seq + 1)
				send(seq)
				seq++
				continue
			}
			send(seq)
		}
		tracker, m := New(Config{}), newModel(0, n)
		feed(tracker, packets...)
		for _, p := range packets {
			m.add(p)
		}
		end(tracker, n)
		if complete := tracker.Complete(); complete != (wants[i].Lost == 0) {
			t.Errorf("%s: complete %v", c.name, complete)
		}
		r, err := tracker.Finish(Settlement{Clock: Same})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, r, []*model{m}, packets, []uint64{0}, []uint64{n})
		want := r.Counts
		want.Lost = wants[i].Lost
		if i < len(faults) {
			want.Duplicates, want.Reordered = wants[i].Duplicates, wants[i].Reordered
		}
		if diff := cmp.Diff(want, r.Counts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
