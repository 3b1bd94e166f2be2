package pace

import (
	"math"
	"slices"
	"time"

	"linerate/internal/cadence"
)

// Stats is the account of a schedule.
type Stats struct {
	Packets      uint64
	PayloadBytes uint64
	Late         uint64          // packets that left more than a gap, and 10 µs, after they were due
	Shortfall    uint64          // packets due that were given up
	Span         time.Duration   // from the first departure to when the packet after the last would leave; 0 if one burst was all
	Cadence      *cadence.Result // of departures; nil when unpaced, and of several workers, as nobody saw all leave
	Bursts       *SentBursts     // nil but of an isochronous schedule
	ErrorPPM     float64         // long-run rate against the asked; NaN when unpaced or not to be told
}

// Finish settles the account of a schedule that one pacer had, or several in shares.
func Finish(pacers ...*Pacer) Stats {
	var s Stats
	var first, last *Pacer // those with the first and the last departure
	var cost uint64        // what all that left took of the rate
	even := true           // they gave up the same time
	for _, p := range pacers {
		s.Packets += p.stats.Packets
		s.PayloadBytes += p.stats.PayloadBytes
		s.Late += p.stats.Late
		s.Shortfall += p.stats.Shortfall
		cost += p.cost
		even = even && p.forgone == pacers[0].forgone
		if p.stats.Packets == 0 {
			continue
		}
		if first == nil || p.left() < first.left() {
			first = p
		}
		if last == nil || p.leftLast() > last.leftLast() {
			last = p
		}
	}
	if p := pacers[0]; len(pacers) == 1 && p.s.MicroRate > 0 {
		until := p.due
		if until == forever { // a profile that ends in silence
			until = p.s.Duration
		}
		r := p.watch.Result(p.start+int64(until), p.nominal())
		s.Cadence = &r
	}
	if p := pacers[0]; p.s.Isochronous != nil {
		s.Bursts = p.bursts.result()
	}
	s.ErrorPPM = math.NaN()
	if first != nil {
		s.pace(first, last, cost, even)
	}
	return s
}

// pace tells the rate by intervals, not packets: what left before the last
// departure took from the first departure to that one.
func (s *Stats) pace(first, last *Pacer, cost uint64, even bool) {
	if iso := first.s.Isochronous; iso != nil {
		// To when the next burst would begin.
		s.Span = max(time.Duration(last.leftLast()-first.left()), last.lastDue-first.firstDue+iso.due(1))
		return
	}
	took, before := float64(last.leftLast()-first.left()), float64(cost-last.lastCost())
	if took <= 0 || before <= 0 {
		return
	}
	s.Span = time.Duration(took * float64(cost) / before)
	switch of := &first.s; {
	case of.Profile != nil && even: // else there is no one time to leave aside
		s.ErrorPPM = (float64(last.lastDue-first.firstDue)/took - 1) * 1e6
	case of.Profile == nil && of.MicroRate > 0:
		asked := float64(of.MicroRate) / microsPerUnit
		s.ErrorPPM = (before/took*1e9/asked - 1) * 1e6
	}
}

// left and leftLast are when the first and the last packets left.
func (p *Pacer) left() int64 {
	first, _ := p.watch.Span()
	return first
}

func (p *Pacer) leftLast() int64 {
	_, last := p.watch.Span()
	return last
}

// lastCost is what the last departure took of the rate.
func (p *Pacer) lastCost() uint64 {
	all, before := p.watch.Seen()
	return (all - before) * p.unit
}

// nominal is the gap in ns between all packets; 0 where they have no one such gap.
func (p *Pacer) nominal() float64 {
	if p.s.Profile != nil || p.s.Isochronous != nil || p.s.MicroRate == 0 || slices.Min(p.s.Costs) != slices.Max(p.s.Costs) {
		return 0
	}
	return float64(p.s.Costs[0]) * 1e9 * microsPerUnit / float64(p.s.MicroRate)
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
