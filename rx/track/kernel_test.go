package track

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
)

// copyTo loads what a tracker counted into another, as from a kernel.
func copyTo(to, from *Tracker) {
	k := Kernel{Started: from.started, Run: from.run, Base: from.base, Foreign: from.foreign, IPv6: from.IPv6()}
	for _, f := range from.flows {
		k.Flows = append(k.Flows, KernelFlow{
			Number: f.number, Counts: f.Counts, Next: f.next, First: f.first, Last: f.last,
			ReorderExtentMax: f.extent, Jitter: f.vary.jitter, IPDVUndefined: f.vary.undefined,
		})
	}
	to.Load(&k)
}

// copyRest is for the end.
func copyRest(to, from *Tracker) {
	to.LoadCadence(from.watch)
	for _, f := range from.flows {
		w := KernelWindow{Run: f.run, Gaps: f.bursts.Gaps, Lost: f.bursts.Lost, Longest: f.bursts.Max, Bursts: f.bursts.count}
		for i, seen := range f.seen {
			w.Missing[i] = ^seen
		}
		to.LoadWindow(f.number, &w)
		if f.delays != from.later || f == from.flows[ownDelays] {
			to.LoadDelays(f.number, &KernelDelays{kernelSpread(f.delays.transit), kernelSpread(f.delays.ipdv)})
		}
	}
}

func kernelSpread(s *spread) KernelSpread {
	return KernelSpread{s.min, s.max, s.up.Export().Counts, s.down.Export().Counts}
}

// A tracker with the state of another comes to the same result.
func TestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets, firsts := arrivals(t)
		whole, loaded := New(Config{}), New(Config{})
		half := len(packets) / 2
		feed(whole, packets[:half]...)
		copyTo(loaded, whole)
		feed(whole, packets[half:]...)
		copyTo(loaded, whole)
		if diff := cmp.Diff(whole.Totals(), loaded.Totals()); diff != "" {
			t.Fatalf("totals (-want +got):\n%s", diff)
		}
		copyRest(loaded, whole)
		if rapid.Bool().Draw(t, "marker") {
			var sent []uint64
			for flow := range firsts {
				f := whole.flow(uint16(flow), probe.Source{})
				sent = append(sent, f.next+rapid.SampledFrom([]uint64{0, 1, 3 * Window}).Draw(t, "tail"))
			}
			end(whole, sent...)
			end(loaded, sent...)
		}
		if whole.Complete() != loaded.Complete() || whole.Started() != loaded.Started() {
			t.Errorf("complete %v, %v", whole.Complete(), loaded.Complete())
		}
		want, errWant := whole.Finish(Settlement{Clock: Same})
		got, errGot := loaded.Finish(Settlement{Clock: Same})
		if errWant != nil || errGot != nil {
			t.Fatal(errWant, errGot)
		}
		if diff := cmp.Diff(want, got, numbers); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Flows beyond those with distributions of their own share what is loaded.
func TestLoadManyFlows(t *testing.T) {
	whole, loaded := New(Config{}), New(Config{})
	for flow := range uint16(ownDelays + 3) {
		for seq := range uint64(3) {
			feed(whole, packet{flow, seq, int64(seq) * 1000, int64(seq)*1100 + 50_000 + int64(flow), 18})
		}
	}
	copyTo(loaded, whole)
	copyRest(loaded, whole)
	if diff := cmp.Diff(finish(t, whole), finish(t, loaded), numbers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Packets in doubt are foreign until they count; a marker of another run that came
// before is dropped.
func TestLoadForeign(t *testing.T) {
	tracker := New(Config{})
	feed(tracker, packet{seq: 1 << 40}) // of its own: it stays
	end(tracker, 3)                     // of run 9
	tracker.Load(&Kernel{Foreign: 5})
	if got := tracker.Totals().Foreign; got != 6 || tracker.Started() || !tracker.Ended() {
		t.Errorf("%d foreign, started %v, ended %v", got, tracker.Started(), tracker.Ended())
	}
	tracker.Load(&Kernel{Started: true, Run: 8, Foreign: 3, Flows: []KernelFlow{{Next: 2, Counts: Counts{Packets: 2, Unique: 2}}}})
	if got := tracker.Totals(); got.Foreign != 4 || got.Packets != 2 || !tracker.Started() || tracker.Ended() || tracker.IPv6() {
		t.Errorf("%+v, started %v, ended %v", got, tracker.Started(), tracker.Ended())
	}
}

// Packets in doubt that others bear out are no more than so many, either.
func TestMost(t *testing.T) {
	tracker := New(Config{Most: 2})
	for _, seq := range []uint64{1 << 40, 1 << 40, 1 << 40, 1<<40 + 1, 1<<40 + 2} {
		feed(tracker, packet{seq: seq, size: 100})
	}
	end(tracker, 9)
	if got := tracker.Totals(); got.Packets != 2 || got.Unique != 1 || got.Duplicates != 1 || tracker.Ended() {
		t.Errorf("%+v, ended %v", got, tracker.Ended())
	}
}

// A lane does what the kernel does on one CPU for what tells a drift.
type lane struct {
	seen, pick uint64
	step       int64
	low, high  KernelPoint
	points     []KernelPoint
	random     *rand.Rand
}

func (l *lane) observe(t *Tracker, p KernelPoint) {
	l.seen++
	switch {
	case l.seen <= sampleMost:
		l.points = append(l.points, p)
	case l.seen >= l.pick:
		l.points[l.random.IntN(sampleMost)] = p
		l.pick = l.seen + 1 + l.random.Uint64N(2*l.seen-sampleMost)/sampleMost
	}
	if l.seen > 1 {
		p.Sent = max(p.Sent, l.step)
		switch {
		case p.Sent >= l.step+skewStep:
			t.LoadStep(l.low, l.high)
		case p.Transit < l.low.Transit:
			l.low = p
			return
		case p.Transit > l.high.Transit:
			l.high = p
			return
		default:
			return
		}
	}
	l.step, l.low, l.high = p.Sent, p, p
}

// lanes has some CPUs observe packets in turn and loads what they saw.
func lanes(cpus int, points []point) *Tracker {
	t := New(Config{})
	all := make([]lane, cpus)
	for i, p := range points {
		l := &all[i%cpus]
		if l.random == nil {
			l.random = rand.New(rand.NewPCG(uint64(i), 1))
		}
		l.observe(t, KernelPoint{p.sent, p.transit})
	}
	var samples []KernelSample
	for i := range all {
		t.LoadStep(all[i].low, all[i].high)
		samples = append(samples, KernelSample{all[i].points, all[i].seen})
	}
	t.LoadSamples(samples)
	return t
}

// What steps and samples tell of a drift is what all packets tell.
func TestLoadDrift(t *testing.T) {
	const drift = 30e-6 // ns a ns
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		cpus int
		gap  int64 // ns
	}{{1, 5_000_000}, {1, 200_000}, {3, 5_000_000}, {2, 200_000}} {
		var points []point
		for sent := int64(1e12); sent < 1e12+70e9; sent += c.gap {
			points = append(points, point{sent, int64(20_000*random.ExpFloat64() + drift*float64(sent-1e12))})
		}
		s := skew{sample: newSample()}
		for _, p := range points {
			s.add(p)
		}
		want := s.delay()
		got := lanes(c.cpus, slices.Clone(points)).skew.delay()
		if want == nil || got == nil {
			t.Fatalf("%+v: no drift found: %v, %v", c, want, got)
		}
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-8 && b-a < 1e-8 })
		if len(points) > sampleMost { // both draw, not the same
			for _, p := range [][2]*int64{{&want.P50, &got.P50}, {&want.P99, &got.P99}, {&want.P999, &got.P999}} {
				if ratio := float64(*p[1]) / float64(*p[0]); ratio < 0.8 || ratio > 1.25 {
					t.Errorf("%+v: percentiles %+v, want %+v", c, got, want)
				}
				*p[0] = *p[1]
			}
			if diff := got.N - want.N; int64(diff) < -4 || int64(diff) > 4 {
				t.Errorf("%+v: %d packets drawn, want %d", c, got.N, want.N)
			}
			want.N = got.N
		}
		within := int64(0)
		if c.cpus > 1 {
			within = int64(drift * skewStep) // their steps are not the same
		}
		ints := cmp.Comparer(func(a, b int64) bool { return abs(a-b) <= within })
		if diff := cmp.Diff(want, got, near, ints); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}
