package pace

import (
	"testing"
	"time"
)

// TestSmallestBurstThatHoldsTheRate has a path that takes longer for a call than the
// gap: packets leave alone while that holds the rate, and no more together than are
// due when it does not.
func TestSmallestBurstThatHoldsTheRate(t *testing.T) {
	s := uniform(8_000, 8_000_000_000, 1) // a million packets a second
	s.Most, s.Duration = 64, 100*time.Millisecond
	for _, tt := range []struct {
		call int64 // ns
		most int
	}{{900, 1}, {1100, 2}, {1500, 2}, {1900, 2}, {2300, 3}, {3100, 4}, {5500, 7}} {
		sent, p := simulate(s, tt.call, never)
		stats := Finish(p)
		if stats.Packets != 100_000 || stats.Shortfall != 0 {
			t.Errorf("calls of %d ns: %+v", tt.call, stats)
		}
		most := 0
		for _, d := range sent {
			most = max(most, d.N)
		}
		if last := sent[len(sent)-1]; last.at > int64(last.Due)+2*tt.call {
			t.Errorf("calls of %d ns: the last left %d ns late", tt.call, last.at-int64(last.Due))
		}
		if most != tt.most {
			t.Errorf("calls of %d ns: up to %d packets at once, want %d", tt.call, most, tt.most)
		}
	}
}

// TestNoBurstAfterAStall lets no more than two packets leave together for a stall,
// and all of them no faster than 1.25 times the rate.
func TestNoBurstAfterAStall(t *testing.T) {
	s := uniform(8_000, 800_000_000, 1) // 100,000 packets a second
	s.Most, s.Duration = 64, time.Second
	const gap = 10_000
	sent, p := simulate(s, 1000, func(i int, _ int64) int64 {
		if i == 5000 {
			return int64(40 * time.Millisecond)
		}
		return 0
	})
	if stats := Finish(p); stats.Packets != 100_000 || stats.Shortfall != 0 {
		t.Errorf("%+v", stats)
	}
	for i := 5001; i < len(sent); i++ {
		d, before := sent[i], sent[i-1]
		if d.N > 2 {
			t.Fatalf("%d packets left together at %d", d.N, d.at)
		}
		if i > 5002 && d.at-before.at < int64(before.N)*gap*4/5 {
			t.Fatalf("packet %d left %d ns after %d others", d.First, d.at-before.at, before.N)
		}
	}
}
