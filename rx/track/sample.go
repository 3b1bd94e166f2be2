package track

import (
	"math"
	"math/rand/v2"
)

// sampleMost is how many packets a sample holds: 16 of them lie above the
// 99.9th percentile.
const sampleMost = 1 << 14

// A sample holds packets drawn at random from all that came, each as likely as
// any other (Li, "Reservoir-sampling algorithms of time complexity
// O(n(1+log(N/n)))", algorithm L, 1994). It costs next to nothing a packet.
type sample struct {
	points []point
	seen   uint64  // packets so far
	pick   uint64  // the next that is drawn
	weight float64 // greatest of as many uniform random numbers as the sample holds
	random *rand.Rand
}

func newSample() sample {
	return sample{
		points: make([]point, 0, sampleMost),
		weight: 1,
		random: rand.New(rand.NewPCG(0, 0)), // the same packets give the same result
	}
}

func (s *sample) add(p point) {
	s.seen++
	switch {
	case len(s.points) < sampleMost:
		s.points = append(s.points, p)
		if len(s.points) == sampleMost {
			s.skip()
		}
	case s.seen == s.pick:
		s.points[s.random.IntN(sampleMost)] = p
		s.skip()
	}
}

// skip draws how many packets to pass over.
func (s *sample) skip() {
	s.weight *= math.Exp(math.Log(1-s.random.Float64()) / sampleMost)
	s.pick = s.seen + 1 + uint64(math.Log(1-s.random.Float64())/math.Log1p(-s.weight))
}

// drawn is the sample for load.
func (s *sample) drawn() KernelSample {
	k := KernelSample{Points: make([]KernelPoint, len(s.points)), Seen: s.seen}
	for i, p := range s.points {
		k.Points[i] = KernelPoint{p.sent, p.transit}
	}
	return k
}
