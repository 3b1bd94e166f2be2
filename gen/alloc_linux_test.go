package gen

import (
	"testing"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// TestAllocs holds the loop of each path to no allocation.
func TestAllocs(t *testing.T) {
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.sink(testAddr4[1])
			s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100)))
			b := pace.Burst{N: 64, Size: 100}
			allocs := testing.AllocsPerRun(100, func() {
				if n, err := s.Send(b); n != b.N || err != nil {
					t.Errorf("Send = %d, %v", n, err)
				}
				b.First += uint64(b.N)
			})
			if allocs != 0 {
				t.Errorf("%v allocations a batch", allocs)
			}
		})
	}
}

// TestReplayAllocs holds the loop of replay to no allocation.
func TestReplayAllocs(t *testing.T) {
	l := newLab(t)
	s, err := OpenFrames(&Config{Interface: "a", IfIndex: l.a.Attrs().Index, Frame: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	frames := make([][]byte, FrameBatch)
	for i := range frames {
		frames[i] = make([]byte, 60+i)
	}
	player := pace.NewPlayer(pace.RateTimeline([]uint64{8, 16, 24}, 1e18), 1<<40, 0)
	allocs := testing.AllocsPerRun(100, func() {
		if _, _, ok := player.Next(1e9); !ok {
			t.Error("the player is done")
		}
		n, err := s.Send(frames[:player.Ready(1e9, FrameBatch)])
		player.Sent(n, 1e9)
		if n != FrameBatch || err != nil {
			t.Errorf("Send = %d, %v", n, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}

func BenchmarkSend(b *testing.B) {
	for _, p := range variants() {
		b.Run(p.Name, func(b *testing.B) {
			l := newLab(b)
			l.sink(testAddr4[1])
			s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 18)))
			burst := pace.Burst{N: 64, Size: 18}
			b.ReportAllocs()
			start := linux.Monotonic()
			packets := 0
			for b.Loop() {
				n, err := s.Send(burst)
				if err != nil {
					b.Fatal(err)
				}
				packets += n
				burst.First += uint64(n)
			}
			elapsed := float64(linux.Monotonic() - start)
			b.ReportMetric(elapsed/float64(packets), "ns/pkt")
			b.ReportMetric(float64(packets)/elapsed*1e9, "pkt/s")
		})
	}
}
