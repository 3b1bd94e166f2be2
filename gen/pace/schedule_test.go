package pace

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exactDue is the definition: floor(cost of the packets before k / rate), in ns.
func exactDue(s *Schedule, k uint64) *big.Int {
	var cost uint64
	for i := range k {
		cost += s.Costs[i%uint64(len(s.Costs))]
	}
	ns := new(big.Int).SetUint64(cost)
	ns.Mul(ns, big.NewInt(1e15))
	return ns.Div(ns, new(big.Int).SetUint64(s.MicroRate))
}

func TestGap(t *testing.T) {
	even := Schedule{Costs: []uint64{1}, MicroRate: 10_000 * microsPerUnit, Flows: 3, Burst: 1}
	mixed := Schedule{Costs: []uint64{500, 1500}, MicroRate: 1_000_000 * microsPerUnit, Flows: 1, Burst: 1}
	unpaced := Schedule{Costs: []uint64{1}, Flows: 1, Burst: 1}
	for _, c := range []struct {
		what string
		s    Schedule
		want time.Duration
	}{
		{"10 kpps", even, 100 * time.Microsecond},
		{"two flows of its three", even.Split(0, 2), 150 * time.Microsecond},
		{"the third", even.Split(1, 2), 300 * time.Microsecond},
		{"500 and 1500 bits at 1 Mbit/s", mixed, time.Millisecond},
		{"as fast as the path can", unpaced, 0},
	} {
		if got := c.s.Gap(); got != c.want {
			t.Errorf("%s: a gap of %v, want %v", c.what, got, c.want)
		}
	}
}

func drawSchedule(t *rapid.T) *Schedule {
	costs := rapid.SliceOfN(rapid.Uint64Range(1, 600_000), 1, 12).Draw(t, "costs")
	return &Schedule{
		Costs:     costs,
		Sizes:     make([]int, len(costs)),
		MicroRate: rapid.Uint64Range(1_000, 10_000_000_000_000_000_000).Draw(t, "rate"),
		Flows:     1, Burst: 1,
	}
}

func TestDueIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		k := rapid.Uint64Range(0, 3000).Draw(t, "k")
		want := exactDue(s, k)
		if !want.IsInt64() {
			return
		}
		if got := s.Due(k); int64(got) != want.Int64() {
			t.Fatalf("Due(%d) = %d ns, want %v", k, got, want)
		}
	})
}

func TestPacketsIsTheLastThatTheRateAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		d := time.Duration(rapid.Int64Range(1, int64(10*time.Minute)).Draw(t, "d"))
		n := s.Packets(d)
		allowed := new(big.Int).Mul(new(big.Int).SetUint64(s.MicroRate), big.NewInt(int64(d)))
		cost := func(k uint64) *big.Int {
			return new(big.Int).Mul(new(big.Int).SetUint64(s.Cost(k)), big.NewInt(1e15))
		}
		if cost(n).Cmp(allowed) > 0 || cost(n+1).Cmp(allowed) <= 0 {
			t.Fatalf("Packets(%v) = %d is not the greatest that fits", d, n)
		}
	})
}

func TestPacketsOfPlainRates(t *testing.T) {
	for _, c := range []struct {
		bits  uint64
		bps   uint64
		d     time.Duration
		wants uint64
	}{
		{8972 * 8, 500_000_000, 3 * time.Second, 20898}, // 6966.1… packets a second
		{1000, 1_000_000, time.Second, 1000},
		{1000, 999, time.Second, 0},
		{1, 1, time.Hour, 3600},
	} {
		s := Schedule{Costs: []uint64{c.bits}, Sizes: []int{0}, MicroRate: c.bps * microsPerUnit}
		if got := s.Packets(c.d); got != c.wants {
			t.Errorf("%d bits at %d bit/s in %v: %d packets, want %d", c.bits, c.bps, c.d, got, c.wants)
		}
	}
}
