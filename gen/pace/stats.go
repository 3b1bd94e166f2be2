package pace

import (
	"math"
	"time"
)

// Stats is the account of a schedule.
type Stats struct {
	Packets      uint64
	PayloadBytes uint64
	Late         uint64        // packets that left more than a gap, and 10 µs, after they were due
	Shortfall    uint64        // packets due that were given up
	LongestBurst int           // most packets sent without a pause between; 0 when unpaced
	Span         time.Duration // from the first departure to when the packet after the last would leave; 0 if one burst was all
	Gaps         *Gaps         // between departures; nil unless each packet leaves alone, and all by one worker
	ErrorPPM     float64       // long-run rate against the asked; NaN when unpaced or too short to tell
}

// Finish settles the account of a schedule that one pacer had, or several in shares.
func Finish(pacers ...*Pacer) Stats {
	var s Stats
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	var cost, lastCost uint64 // of all that left, and of the last burst
	for _, p := range pacers {
		s.Packets += p.stats.Packets
		s.PayloadBytes += p.stats.PayloadBytes
		s.Late += p.stats.Late
		s.Shortfall += p.stats.Shortfall
		if p.s.MicroRate > 0 {
			s.LongestBurst = max(s.LongestBurst, p.gaps.longest)
		}
		if !p.gaps.started {
			continue
		}
		cost += p.gaps.cost
		first = min(first, p.gaps.first)
		if p.gaps.last > last {
			last, lastCost = p.gaps.last, p.gaps.lastCost
		}
	}
	if len(pacers) == 1 {
		s.Gaps = pacers[0].gaps.percentiles()
	}
	s.pace(&pacers[0].s, float64(last-first), cost, lastCost)
	return s
}

// pace tells the rate by intervals, not packets: what left before the last
// departure took from the first departure to that one.
func (s *Stats) pace(of *Schedule, took float64, cost, lastCost uint64) {
	s.ErrorPPM = math.NaN()
	before := float64(cost - lastCost)
	if took <= 0 || before <= 0 {
		return
	}
	s.Span = time.Duration(took * float64(cost) / before)
	if of.MicroRate > 0 {
		asked := float64(of.MicroRate) / microsPerUnit
		s.ErrorPPM = (before/took*1e9/asked - 1) * 1e6
	}
}

// SentPerFlow is how many packets of each flow left.
func SentPerFlow(pacers ...*Pacer) []uint64 {
	sent := make([]uint64, len(pacers[0].next))
	for _, p := range pacers {
		for flow, n := range p.next {
			sent[flow] += n
		}
	}
	return sent
}
