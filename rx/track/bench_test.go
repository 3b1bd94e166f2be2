package track

import (
	"testing"

	"linerate/internal/probe"
)

// A traffic makes native packets of an endless test, one every 100 ns.
type traffic struct {
	tracker *Tracker
	stamper probe.Stamper
	payload [probe.NativeSize]byte
	flows   uint64
	n       uint64
	lose    uint64 // every so manyth packet is lost; 0 loses none
}

func newTraffic(flows, lose uint64) *traffic {
	return &traffic{tracker: New(Config{}), stamper: probe.Stamper{Run: 7}, flows: flows, lose: lose}
}

// next hands over the packet that arrives next.
func (s *traffic) next() {
	if s.n++; s.lose > 0 && s.n%s.lose == 0 {
		s.n++
	}
	mono := int64(s.n) * 100
	s.stamper.Put(s.payload[:], uint16(s.n%s.flows), s.n/s.flows, mono)
	s.tracker.Datagram(s.payload[:], 1472, probe.Source{}, mono+20_000+mono>>9&0x3ff)
}

var traffics = []struct {
	name        string
	flows, lose uint64
}{
	{"in order", 1, 0},
	{"1 % lost", 1, 100},
	{"64 flows", 64, 0},
	{"64 flows, 1 % lost", 64, 101},
}

func BenchmarkDatagram(b *testing.B) {
	for _, c := range traffics {
		b.Run(c.name, func(b *testing.B) {
			s := newTraffic(c.flows, c.lose)
			b.ReportAllocs()
			for b.Loop() {
				s.next()
			}
		})
	}
}

func TestDatagramAllocatesNothing(t *testing.T) {
	if raceEnabled {
		return // the race detector allocates
	}
	for _, c := range traffics {
		s := newTraffic(c.flows, c.lose)
		for range 4 * Window * c.flows {
			s.next()
		}
		if n := testing.AllocsPerRun(100, func() {
			for range 1000 {
				s.next()
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations in 1000 packets", c.name, n)
		}
	}
}
