package session

import (
	"slices"
	"testing"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
)

// takes is a Sender that takes at most so many packets at once.
type takes struct {
	gen.Sender
	most int
	sent []pace.Burst
}

func (s *takes) Send(b pace.Burst) (int, error) {
	b.N = min(b.N, s.most)
	s.sent = append(s.sent, b)
	return b.N, nil
}

// TestWarmup sends 12 packets of two flows, one a millisecond: what is due in the
// first 5 ms has flows of its own, and the rest begins anew at 0.
func TestWarmup(t *testing.T) {
	path := &takes{most: 2}
	w := &warmup{Sender: path, length: 5 * time.Millisecond, flows: make([]uint64, 2)}
	next := make([]uint64, 2)
	for i := 0; i < 12; {
		flow := i / 3 % 2
		n, err := w.Send(pace.Burst{Flow: uint16(flow), First: next[flow], N: 3 - i%3, Size: 100, Due: time.Duration(i) * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		next[flow] += uint64(n)
		i += n
	}
	want := map[uint16]uint64{0: 3, 1: 4, 2: 3, 3: 2}
	got := map[uint16]uint64{}
	for _, b := range path.sent {
		if b.First != got[b.Flow] {
			t.Errorf("flow %d goes on at %d after %d packets", b.Flow, b.First, got[b.Flow])
		}
		got[b.Flow] += uint64(b.N)
	}
	for flow, n := range want {
		if got[flow] != n {
			t.Errorf("flow %d sent %d packets, want %d", flow, got[flow], n)
		}
	}
	if counts := w.counts(next); !slices.Equal(counts, []uint64{3, 4, 3, 2}) {
		t.Errorf("the end marker has %v", counts)
	}
	if before, after := w.before.packets.Load(), w.after.bytes.Load(); before != 5 || after != 700 {
		t.Errorf("%d packets before, %d bytes after: want 5 and 700", before, after)
	}
}
