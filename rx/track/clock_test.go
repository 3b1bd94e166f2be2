package track

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/probe"
)

func TestClocks(t *testing.T) {
	const day = int64(86_400e9)
	for _, c := range []struct {
		name     string
		sender   int64 // what the sender's clock shows when this host's shows 0
		settle   Settlement
		delays   []int64
		min, max int64
	}{
		{"same", 0, Settlement{Clock: Same}, []int64{90, 50, 120}, 50, 120},
		{"same, a year up", 0, Settlement{Clock: Same}, []int64{90, 50, 120}, 50, 120},
		{"same, but for a time namespace", 100, Settlement{Clock: Same}, []int64{90, 50, 120}, -50, 20},
		{"synchronised", 3 * day, Settlement{Clock: Synchronised, OffsetNS: 3 * day}, []int64{90, 50, 120}, 50, 120},
		{"badly synchronised", -3 * day, Settlement{Clock: Synchronised, OffsetNS: -3*day - 70}, []int64{90, 50, 120}, -20, 50},
		{"relative", 5*day + 77, Settlement{}, []int64{90, 50, 120}, 0, 70},
		{"far from the first", 0, Settlement{Clock: Same}, []int64{90, 200e9, 50}, 50, 200e9},
	} {
		tracker := New(Config{})
		at := int64(1) << 52
		for i, delay := range c.delays {
			sent := at + int64(i)*1000
			feed(tracker, packet{seq: uint64(i), sent: sent + c.sender, at: sent + delay, size: 18})
		}
		r, err := tracker.Finish(c.settle)
		if err != nil {
			t.Fatal(err)
		}
		d := r.Delay
		if d.Min != c.min || d.Max != c.max || d.Clock != c.settle.Clock || d.Drift != nil || d.N != 3 {
			t.Errorf("%s: %+v, want %d to %d", c.name, d, c.min, c.max)
		}
		if diff := cmp.Diff(d, r.Flows[0].Delay); diff != "" {
			t.Errorf("%s: total and only flow differ:\n%s", c.name, diff)
		}
	}
}

// The sender's time passes a multiple of 2^48 in the test.
func TestTransmitTimeWraps(t *testing.T) {
	tracker := New(Config{WallOffset: 12345}) // of no concern to the native format
	for i := range int64(10) {
		sent := 5<<48 - 5000 + i*1000
		feed(tracker, packet{seq: uint64(i), sent: sent, at: sent + 300, size: 18})
	}
	r, err := tracker.Finish(Settlement{Clock: Same})
	if err != nil {
		t.Fatal(err)
	}
	if r.Delay.Min != 300 || r.Delay.Max != 300 || *r.JitterNS != 0 || r.IPDV.Max != 0 {
		t.Errorf("delay %+v, jitter %d, ipdv %+v", r.Delay, *r.JitterNS, r.IPDV)
	}
}

func TestWallTime(t *testing.T) {
	const wall = 1_790_000_000_000_000_000
	tracker := New(Config{Format: probe.IPerf2, WallOffset: wall})
	s := probe.Stamper{Format: probe.IPerf2, WallOffset: wall}
	b := make([]byte, 18)
	s.Format.Init(b)
	for i := range int64(3) {
		s.Put(b, 0, uint64(i), i*1_000_000)
		tracker.Datagram(b, 18, source(1), i*1_000_000+40_000)
	}
	r, err := tracker.Finish(Settlement{Clock: Same})
	if err != nil {
		t.Fatal(err)
	}
	if r.Delay.Min != 40_000 || r.Delay.P999 != 40_000 {
		t.Errorf("%+v", r.Delay)
	}
}

func TestClockNames(t *testing.T) {
	for clock, want := range map[Clock]string{Relative: "relative", Same: "same", Synchronised: "synchronised"} {
		if got := clock.String(); got != want {
			t.Errorf("%d is %q, want %q", clock, got, want)
		}
	}
}

// worst is the delay above the least of one packet of drifting.
const worst = 30_000_000

// drifting feeds a packet each ms through clocks that drift apart. Their true
// delay above the least is exponential about 20 µs, but for one.
func drifting(seconds int64, drift float64, flows uint64) *Tracker {
	random := rand.New(rand.NewPCG(1, 2))
	tracker := New(Config{})
	send := func(i, delay int64) {
		sent := i * 1_000_000
		at := sent + 500_000 + delay + int64(drift*float64(sent))
		feed(tracker, packet{flow: uint16(uint64(i) % flows), seq: uint64(i) / flows, sent: sent, at: at, size: 18})
	}
	for i := range seconds * 1000 {
		if i != 5003 {
			send(i, int64(20_000*random.ExpFloat64()))
		}
		if i == 5032 {
			send(5003, worst)
		}
	}
	return tracker
}

func TestDriftIsRemoved(t *testing.T) {
	for _, drift := range []float64{80e-6, -80e-6, 0} {
		r := finish(t, drifting(100, drift, 1))
		d := r.Delay
		if d.Drift == nil || math.Abs(*d.Drift-drift) > 0.05e-6 {
			t.Errorf("drift %g: found %+v", drift, d)
			continue
		}
		for name, c := range map[string]struct{ got, want, within float64 }{
			"p50":  {float64(d.P50), 20_000 * math.Ln2, 1000},
			"p99":  {float64(d.P99), 20_000 * math.Log(100), 8000},
			"p999": {float64(d.P999), 20_000 * math.Log(1000), 30_000},
			"max":  {float64(d.Max), worst, 5000}, // late by 3 steps
		} {
			if math.Abs(c.got-c.want) > c.within {
				t.Errorf("drift %g: %s is %g, want %g", drift, name, c.got, c.want)
			}
		}
		if d.Min != 0 || d.N != sampleMost || r.Flows[0].Delay != d {
			t.Errorf("drift %g: %+v", drift, d)
		}
	}
}

func TestDriftStays(t *testing.T) {
	for _, c := range []struct {
		name    string
		tracker *Tracker
		clock   Clock
		flows   bool // keep a delay
	}{
		{"too short", drifting(50, 80e-6, 2), Relative, true},
		{"no clock's drift", drifting(100, 5e-3, 2), Relative, true},
		{"one clock", drifting(100, 80e-6, 2), Same, true},
		{"several flows", drifting(100, 80e-6, 2), Relative, false},
	} {
		r, err := c.tracker.Finish(Settlement{Clock: c.clock})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Delay.Drift == nil) != c.flows || (r.Flows[0].Delay != nil) != c.flows {
			t.Errorf("%s: %+v, flow %+v", c.name, r.Delay, r.Flows[0].Delay)
		}
	}
}

// Only the least of a step is in the hull: the others may lie below its line.
func TestDelayAboveTheLineIsNotNegative(t *testing.T) {
	s := skew{sample: newSample()}
	for i := range int64(10) {
		for k := range int64(5) {
			s.add(point{i*skewStep + k*1_000_000, i*1000 + k})
		}
	}
	s.close()
	l := s.line()
	if p := s.above(l); l.drift != 1e-4 || p.P50 != 0 || p.Max != 0 {
		t.Errorf("drift %g, %+v", l.drift, p)
	}
}

// A drift that bends puts every point on the hull.
func TestHullIsBounded(t *testing.T) {
	var h hull
	deep := point{30_000 * skewStep, 0} // the one that must stay
	for i := range int64(100_000) {
		if i == 30_000 {
			h.add(deep)
			continue
		}
		h.add(point{i * skewStep, i * i})
	}
	if !slices.Contains(h, deep) {
		t.Error("the deepest vertex is gone")
	}
	if len(h) < hullMost/4 || len(h) > hullMost {
		t.Errorf("%d vertices", len(h))
	}
	for i := 2; i < len(h); i++ {
		if slope(h[i-2], h[i-1]) >= slope(h[i-1], h[i]) {
			t.Fatalf("not convex at %d", i)
		}
	}
	if l := h.edge(80_000 * skewStep); math.Abs(l.drift*skewStep-160_000) > 1000 {
		t.Errorf("slope at 80000 is %g a step, want about 160000", l.drift*skewStep)
	}
}

// Each packet is as likely as any other to be in the sample.
func TestSampleIsFair(t *testing.T) {
	s := newSample()
	const n, parts = 1_000_000, 10
	for i := range int64(n) {
		s.add(point{sent: i})
	}
	var count [parts]int
	for _, p := range s.points {
		count[p.sent*parts/n]++
	}
	if len(s.points) != sampleMost {
		t.Errorf("%d points", len(s.points))
	}
	for i, k := range count { // 5 standard deviations
		if want := float64(sampleMost) / parts; math.Abs(float64(k)-want) > 5*math.Sqrt(want) {
			t.Errorf("part %d has %d, want about %g", i, k, want)
		}
	}
}
