package pace

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linerate/internal/linux"
)

// departure is one burst as the simulated sender let it go.
type departure struct {
	Burst
	at int64
}

// simulate runs a schedule against a clock of its own: each send takes cost ns,
// and stall says how long the machine is taken away before a departure.
func simulate(s Schedule, cost int64, stall func(i int, now int64) int64) ([]departure, *Pacer) {
	const start = 1_000_000
	p := NewPacer(s, start)
	var sent []departure
	now := int64(start)
	for i := 0; ; i++ {
		b, at, ok := p.Next(now)
		if !ok {
			return sent, p
		}
		now = max(now, at) + stall(i, now)
		p.Sent(b, b.N, now)
		sent = append(sent, departure{b, now - start})
		now += cost
	}
}

func never(int, int64) int64 { return 0 }

func uniform(bits uint64, rate uint64, burst int) Schedule {
	return Schedule{Sizes: []int{100}, Costs: []uint64{bits}, MicroRate: rate * microsPerUnit, Flows: 1, Burst: burst}
}

func TestDurationSendsFloorOfRateTimesDuration(t *testing.T) {
	for _, burst := range []int{1, 7, 64} {
		s := uniform(800, 123_456, burst)
		s.Duration = 3 * time.Second
		sent, p := simulate(s, 10, never)
		want := uint64(123_456 * 3 / 800)
		if got := Finish(p); got.Packets != want || got.Shortfall != 0 || got.Late != 0 {
			t.Errorf("burst %d: %+v, want %d packets, none late, none short", burst, got, want)
		}
		for _, d := range sent {
			if d.at != int64(d.Due) {
				t.Fatalf("burst %d: packet %d left at %d, was due at %d", burst, d.First, d.at, d.Due)
			}
		}
	}
}

// BC-021: of an odd division nothing is left behind.
func TestCountIsExactWhateverTheFlowsAndSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "sizes")
		s := Schedule{
			MicroRate: rapid.SampledFrom([]uint64{0, 1_000_000_000 * microsPerUnit}).Draw(t, "rate"),
			Flows:     rapid.IntRange(1, 9).Draw(t, "flows"),
			Burst:     rapid.IntRange(1, 70).Draw(t, "burst"),
			Count:     rapid.Uint64Range(1, 5000).Draw(t, "count"),
		}
		for range n {
			size := rapid.IntRange(18, 1472).Draw(t, "size")
			s.Sizes, s.Costs = append(s.Sizes, size), append(s.Costs, uint64(size)*8)
		}
		sent, p := simulate(s, 100, never)
		next := make([]uint64, s.Flows)
		var total, bytes uint64
		for _, d := range sent {
			if d.First != next[d.Flow] {
				t.Fatalf("flow %d goes on with %d, want %d", d.Flow, d.First, next[d.Flow])
			}
			for i := range d.N {
				if want := s.Sizes[(total+uint64(i))%uint64(n)]; d.Size != want {
					t.Fatalf("packet %d has %d bytes, want %d", total+uint64(i), d.Size, want)
				}
			}
			next[d.Flow] += uint64(d.N)
			total += uint64(d.N)
			bytes += uint64(d.N * d.Size)
		}
		stats := Finish(p)
		if total != s.Count || stats.Packets != total || stats.PayloadBytes != bytes {
			t.Fatalf("%d packets left, account says %+v, want %d", total, stats, s.Count)
		}
		for f, n := range SentPerFlow(p) {
			if n != next[f] {
				t.Fatalf("flow %d: account says %d, %d left", f, n, next[f])
			}
		}
	})
}

func TestDebtIsRepaidAtFiveFourthsOfTheRate(t *testing.T) {
	s := uniform(8_000, 80_000_000, 1) // 10,000 packets a second
	s.Duration = 2 * time.Second
	const gap = int64(100 * time.Microsecond)
	sent, p := simulate(s, 0, func(i int, _ int64) int64 {
		if i == 5000 {
			return int64(40 * time.Millisecond)
		}
		return 0
	})
	for i := 5001; i < len(sent); i++ {
		if g := sent[i].at - sent[i-1].at; g < gap*4/5 {
			t.Fatalf("packet %d left %d ns after the one before, sooner than 4/5 of a gap", i, g)
		}
	}
	// 40 ms at a quarter of the rate on top: repaid after 160 ms.
	if d := sent[5000+2000]; d.at != int64(d.Due) {
		t.Errorf("still %d ns behind 160 ms after the stall", d.at-int64(d.Due))
	}
	stats := Finish(p)
	if stats.Packets != 20_000 || stats.Shortfall != 0 {
		t.Errorf("%+v, want all 20000 and no shortfall", stats)
	}
	if stats.Late < 1500 || stats.Late > 2001 {
		t.Errorf("%d late, want about the 2000 that the debt delayed", stats.Late)
	}
}

// BC-091: a sender that stood still for long does not send all of it at once, and
// says how much it gave up.
func TestDebtBeyondTheLimitIsGivenUp(t *testing.T) {
	s := uniform(8_000, 80_000_000, 1)
	s.Duration = 3 * time.Second
	stall := func(i int, _ int64) int64 {
		if i == 5000 {
			return int64(time.Second)
		}
		return 0
	}
	sent, p := simulate(s, 0, stall)
	stats := Finish(p)
	// A second was lost, 100 ms of it may be repaid.
	if stats.Shortfall != 9_000-1 && stats.Shortfall != 9_000 && stats.Shortfall != 9_001 {
		t.Errorf("shortfall %d, want the 9000 of 900 ms", stats.Shortfall)
	}
	if stats.Packets+stats.Shortfall != 30_000 {
		t.Errorf("%d sent and %d given up, want 30000 in all", stats.Packets, stats.Shortfall)
	}
	if end := sent[len(sent)-1].at; end > int64(s.Duration+MaxDebt) {
		t.Errorf("the last packet left at %v", time.Duration(end))
	}

	s.Duration, s.Count = 0, 20_000
	_, p = simulate(s, 0, stall)
	if stats := Finish(p); stats.Packets != 20_000 || stats.Shortfall != 0 {
		t.Errorf("a count after a stall: %+v, want exactly 20000", stats)
	}
}

func TestSlowPathEndsOnTimeAndReportsTheShortfall(t *testing.T) {
	s := uniform(512, 1_000_000_000_000, 64) // 1 Tbit/s of small packets
	s.Duration = time.Second
	sent, p := simulate(s, int64(64*2*time.Microsecond), never) // 500,000 packets a second is all it can
	stats := Finish(p)
	if want := s.Packets(s.Duration); stats.Packets+stats.Shortfall != want {
		t.Errorf("%d sent and %d short, want %d in all", stats.Packets, stats.Shortfall, want)
	}
	if end := time.Duration(sent[len(sent)-1].at); end > s.Duration+MaxDebt || end < s.Duration-10*time.Millisecond {
		t.Errorf("ended at %v", end)
	}
}

func TestUnpacedEndsWithItsDuration(t *testing.T) {
	s := Schedule{Sizes: []int{100}, Costs: []uint64{800}, Flows: 1, Burst: 64, Duration: time.Second}
	sent, p := simulate(s, int64(100*time.Microsecond), never)
	if n := len(sent); n != 10_000 {
		t.Errorf("%d bursts in a second of 100 µs each", n)
	}
	stats := Finish(p)
	if !math.IsNaN(stats.ErrorPPM) || stats.Late != 0 || stats.Cadence != nil {
		t.Errorf("an unpaced test has no rate error, lateness or gaps: %+v", stats)
	}
}

func TestGapsOfAnExactSender(t *testing.T) {
	s := uniform(8_000, 80_000_000, 1)
	s.Count = 1001
	_, p := simulate(s, 10, never)
	stats := Finish(p)
	c := stats.Cadence
	if g := c.Gaps; g.P50 < 99_900 || g.P50 > 100_000 || g.P999 != g.P50 || g.Max != 100_000 || *g.Near != 1 {
		t.Errorf("gaps %+v, want all of 100 µs", g)
	}
	if w := c.Windows[0]; w.N != 1 || w.Least.Packets != 1000 || w.Most != w.Least {
		t.Errorf("windows %+v, want one of 1000 packets", w)
	}
	if c.LongestRun != 1 || stats.ErrorPPM != 0 || stats.Span != 100100*time.Microsecond {
		t.Errorf("%+v", stats)
	}
}

func TestPacerAllocatesNothing(t *testing.T) {
	p := NewPacer(uniform(800, 1_000_000, 1), 0)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		b, at, _ := p.Next(now)
		now = at
		p.Sent(b, b.N, at)
	}); n != 0 {
		t.Errorf("%v allocations a burst", n)
	}
}

func TestWaiterKeepsTheInstant(t *testing.T) {
	var w Waiter
	var stop atomic.Bool
	for range 50 {
		at := linux.Monotonic() + int64(500*time.Microsecond)
		if now := w.Wait(linux.Monotonic(), at, &stop); now < at {
			t.Fatalf("returned %d ns early", at-now)
		}
	}
	if now := w.Wait(7, 6, &stop); now != 7 {
		t.Errorf("a time past: waited until %d", now)
	}
}

func TestWaiterStops(t *testing.T) {
	var w Waiter
	var stop atomic.Bool
	time.AfterFunc(20*time.Millisecond, func() { stop.Store(true) })
	begun := linux.Monotonic()
	now := w.Wait(begun, begun+int64(time.Hour), &stop)
	if d := time.Duration(now - begun); d > time.Second {
		t.Errorf("stopped after %v", d)
	}
}

// A packet is held to the gap that the one ahead of it makes, so that an exact sender of
// unlike sizes sends no two of them back to back.
func TestAnExactMixHasNoBursts(t *testing.T) {
	s := Schedule{Sizes: []int{22, 1472}, Costs: []uint64{672, 12_304}, MicroRate: 10_000_000 * microsPerUnit, Flows: 1, Burst: 1, Count: 100}
	if _, p := simulate(s, 10, never); Finish(p).Cadence.LongestRun != 1 {
		t.Errorf("%+v", Finish(p).Cadence)
	}
}
