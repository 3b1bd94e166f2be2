package track

import (
	"math"
	"slices"
)

const (
	skewStep = 10e6 // ns of packets that give one point to the hulls
	skewSpan = 60e9 // shortest test, in ns, whose drift can be told from its queues
	skewMost = 1e-3 // ns a ns: two crystals at 100 ppm and a slewed clock stay below
)

// A point is a packet's transit over the time when it was sent, both in ns.
type point struct{ sent, transit int64 }

// A skew finds how fast two clocks drift apart, from transits alone and in
// constant memory. The drift is the slope of the line that lies below all
// points and is closest to them (Moon, Skelly and Towsley, "Estimation and
// Removal of Clock Skew from Network Delay Measurements", 1999). Only the least
// and the greatest transit of each step go into the hulls, which is wrong by
// drift times step at most: 1 µs at 100 ppm.
type skew struct {
	floor, roof hull // below all points; below all points upside down
	low, high   point
	first, step int64   // when the first packet was sent, and the first of this step
	sum         float64 // of the times of floor's points, from first on
	points      int
	sample      sample // for the percentiles
}

func (s *skew) add(p point) {
	s.sample.add(p)
	p.sent = max(p.sent, s.step) // a hull grows in the order of sending
	switch {
	case s.sample.seen == 1:
		s.first, s.step, s.low, s.high = p.sent, p.sent, p, p
	case p.sent >= s.step+skewStep:
		s.close()
		s.step, s.low, s.high = p.sent, p, p
	case p.transit < s.low.transit:
		s.low = p
	case p.transit > s.high.transit:
		s.high = p
	}
}

// close ends a step.
func (s *skew) close() {
	s.floor.add(s.low)
	s.roof.add(point{s.high.sent, -s.high.transit})
	s.sum += float64(s.low.sent - s.first)
	s.points++
}

// delay is delay above the line; nil if the test was too short to tell a drift
// or this is no clock's.
func (s *skew) delay() *Delay {
	s.close()
	if s.step-s.first < skewSpan {
		return nil
	}
	l := s.line()
	if math.Abs(l.drift) > skewMost {
		return nil
	}
	return &Delay{Percentiles: s.above(l), Clock: Relative, Drift: &l.drift}
}

// line is the one below all points and closest to them: the edge of their lower
// hull that spans their mean time.
func (s *skew) line() line {
	return s.floor.edge(s.first + int64(s.sum/float64(s.points)))
}

// above has the percentiles of delay above a line.
func (s *skew) above(l line) Percentiles {
	sorted := make([]int64, 0, len(s.sample.points))
	for _, p := range s.sample.points {
		sorted = append(sorted, max(0, l.above(p))) // below 0 is the error of a step
	}
	slices.Sort(sorted)
	n := uint64(len(sorted))
	most := sorted[n-1]
	for _, p := range s.roof {
		most = max(most, l.above(point{p.sent, -p.transit}))
	}
	return Percentiles{
		N:    n,
		P50:  sorted[rank(n, 500_000)-1],
		P99:  sorted[rank(n, 990_000)-1],
		P999: sorted[rank(n, 999_000)-1],
		Max:  most,
	}
}

// A line is what the transit of packets without queueing lies on.
type line struct {
	drift   float64 // ns a ns
	through point
}

// above is a packet's transit above the line, in ns.
func (l line) above(p point) int64 {
	return p.transit - l.through.transit - int64(math.Round(l.drift*float64(p.sent-l.through.sent)))
}
