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
