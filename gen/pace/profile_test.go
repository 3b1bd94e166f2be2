package pace

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exactAllowed is the definition: the sum of rate times time, in 10^-15 of a unit.
func exactAllowed(rates []Rate, d time.Duration) *big.Int {
	sum := new(big.Int)
	for i, r := range rates {
		end := d
		if i+1 < len(rates) {
			end = min(d, rates[i+1].From)
		}
		if end > r.From {
			sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(r.Micro), big.NewInt(int64(end-r.From))))
		}
	}
	return sum
}

func drawProfile(t *rapid.T) []Rate {
	var rates []Rate
	var from time.Duration
	for range rapid.IntRange(1, 8).Draw(t, "rates") {
		micro := rapid.SampledFrom([]uint64{0, 1, 16_667, 1e6, 123_456_789_000_000, 1e19}).Draw(t, "rate")
		rates = append(rates, Rate{from, micro})
		from += time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "length"))
	}
	return rates
}

// TestProfileIsExact holds the time when an amount is due to the definition: the
// first ns by which the rates have allowed it and go on.
func TestProfileIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := drawProfile(t)
		p := NewProfile(rates)
		d := time.Duration(rapid.Int64Range(0, int64(9*time.Hour)).Draw(t, "d"))
		want := exactAllowed(rates, d)
		a := p.allowed(d)
		got := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(a.hi), 64), new(big.Int).SetUint64(a.lo))
		if got.Cmp(want) != 0 {
			t.Fatalf("%v allows %v in %v, want %v", rates, got, d, want)
		}
		due := p.due(a)
		if due == forever {
			if last := rates[len(rates)-1]; last.Micro != 0 {
				t.Fatalf("%v: what %v allows is never due", rates, d)
			}
			return
		}
		if exactAllowed(rates, due).Cmp(want) > 0 || exactAllowed(rates, due+1).Cmp(want) <= 0 {
			t.Fatalf("%v: what %v allows is due at %v", rates, d, due)
		}
	})
}

func TestProfileSendsExactCounts(t *testing.T) {
	const pps = 1_000_000 // millionths
	s := Schedule{
		Sizes: []int{100}, Costs: []uint64{1}, Flows: 1, Burst: 1, MicroRate: 4000 * pps, Duration: 4 * time.Second,
		Profile: NewProfile([]Rate{{0, 1000 * pps}, {time.Second, 0}, {2 * time.Second, 4000 * pps}, {3 * time.Second, 250 * pps}}),
	}
	sent, p := simulate(s, 100, never)
	stats := Finish(p)
	if stats.Packets != 1000+4000+250 || stats.Shortfall != 0 || stats.Late != 0 {
		t.Errorf("%+v, want 5250 packets, none late or short", stats)
	}
	perSecond := [4]int{}
	for _, d := range sent {
		if d.at != int64(d.Due) {
			t.Fatalf("packet %d left at %d, was due at %v", d.First, d.at, d.Due)
		}
		perSecond[d.at/int64(time.Second)]++
	}
	if perSecond != [4]int{1000, 0, 4000, 250} {
		t.Errorf("%v packets in each second", perSecond)
	}
	if stats.ErrorPPM > 1e-3 || stats.ErrorPPM < -1e-3 {
		t.Errorf("error %g ppm", stats.ErrorPPM)
	}
	if stats.Cadence.Gaps.Near != nil {
		t.Error("a rate that changes has no nominal gap")
	}
}

// What ends in silence is watched to its end.
func TestAProfileThatEndsInSilence(t *testing.T) {
	s := Schedule{
		Sizes: []int{100}, Costs: []uint64{1}, Flows: 1, Burst: 1, MicroRate: 1e9, Duration: 2 * time.Second,
		Profile: NewProfile([]Rate{{0, 1e9}, {time.Second, 0}}),
	}
	_, p := simulate(s, 100, never)
	c := Finish(p).Cadence
	if got := [2]uint64{c.Windows[0].N, c.Windows[1].N}; got != [2]uint64{20, 2} {
		t.Errorf("%d windows, want 20 and 2", got)
	}
}
