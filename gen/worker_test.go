package gen

import (
	"testing"
	"time"

	"linerate/gen/pace"
)

// TestOnlyASleeperTakesPrecedence: two workers that spin, preferred on two processors,
// had a receiver lose most packets.
func TestOnlyASleeperTakesPrecedence(t *testing.T) {
	const kpps = 1000 * 1_000_000 // millionths of packets a second
	for _, c := range []struct {
		what    string
		rate    uint64
		workers int
		span    time.Duration
		sleeps  bool
	}{
		{"10 kpps", 10 * kpps, 1, 0, true},
		{"20 kpps", 20 * kpps, 1, 0, true},
		{"21 kpps", 21 * kpps, 1, 0, false},
		{"40 kpps of two workers", 40 * kpps, 2, 0, true},
		{"100 kpps", 100 * kpps, 1, 0, false},
		{"no rate", 0, 1, 0, false},
		{"a path that spaces packets", 10 * kpps, 1, time.Millisecond, false},
	} {
		s := pace.Schedule{Costs: []uint64{1}, MicroRate: c.rate, Flows: 2, Burst: 1, Span: c.span}
		k := worker{share: s.Split(0, c.workers)}
		if k.sleeps() != c.sleeps {
			t.Errorf("%s: sleeps %v, want %v", c.what, k.sleeps(), c.sleeps)
		}
	}
}
