package pace

import (
	"math"
	"time"

	"linerate/internal/cadence"
)

// A Player walks a timeline as a Pacer walks a schedule, and repays debt as it
// does; but it leaves no frame out: a stall makes the whole longer. One goroutine
// owns it.
type Player struct {
	t       Timeline
	start   int64  // CLOCK_MONOTONIC ns
	index   uint64 // frames that left
	planned uint64
	shift   time.Duration // debt given up

	watch    *cadence.Watch // of departures
	lastDue  time.Duration  // when the last frame was due, debt left aside
	lastMark uint64         // of the last frame
	stats    Stats
}

// NewPlayer starts a timeline at the given CLOCK_MONOTONIC time in ns, for so many
// frames in all.
func NewPlayer(t Timeline, frames uint64, start int64) *Player {
	return &Player{t: t, planned: frames, start: start, watch: cadence.New(start)}
}

// Next is the frame to send and the earliest CLOCK_MONOTONIC time in ns at which
// it may leave; ok is false when all are done. now is the time in ns.
func (p *Player) Next(now int64) (k uint64, at int64, ok bool) {
	if p.index >= p.planned {
		return 0, 0, false
	}
	if debt := time.Duration(now - p.due(p.index)); debt > MaxDebt && p.t.Den != 0 {
		p.shift += debt - MaxDebt
	}
	at = p.due(p.index)
	if p.stats.Packets > 0 {
		_, last := p.watch.Span()
		at = max(at, p.repaid(last, p.lastDue, p.index))
	}
	return p.index, at, true
}

// Ready is how many frames from the next one on may leave together at a time in
// ns that was waited for, at most so many.
func (p *Player) Ready(now int64, most int) int {
	first := p.t.Due(p.index)
	n := 1
	for n < most && p.index+uint64(n) < p.planned {
		k := p.index + uint64(n)
		if max(p.due(k), p.repaid(now, first, k)) > now {
			break
		}
		n++
	}
	return n
}

// due is when frame k is due, in ns of CLOCK_MONOTONIC.
func (p *Player) due(k uint64) int64 { return p.start + int64(p.t.Due(k)+p.shift) }

// repaid is when frame k may leave by the rate of repayment, after the frame that
// was due at a time of the timeline and left at another.
func (p *Player) repaid(left int64, due time.Duration, k uint64) int64 {
	return left + int64(p.t.Due(k)-due)*repayNum/repayDen
}

// Sent accounts for the next n frames, which left at the CLOCK_MONOTONIC time in
// ns.
func (p *Player) Sent(n int, at int64) {
	if n == 0 {
		return
	}
	for i := range uint64(n) {
		k := p.index + i
		late := time.Duration(at - p.due(k))
		if p.t.Den != 0 && late > lateFloor && late > p.t.Due(k+1)-p.t.Due(k) {
			p.stats.Late++
		}
	}
	last := p.index + uint64(n) - 1
	p.watch.Add(at, cadence.Load{Packets: uint64(n)}, int64(p.t.Due(p.index)-p.lastDue))
	p.lastDue, p.lastMark = p.t.Due(last), p.t.Mark(last)
	p.index += uint64(n)
	p.stats.Packets += uint64(n)
}

// Totals is how many frames left so far, and how many of them late.
func (p *Player) Totals() (packets, late uint64) { return p.stats.Packets, p.stats.Late }

// Finish settles the account; gaps between unlike frames tell nothing and are
// left out.
func (p *Player) Finish() Stats {
	s := p.stats
	s.ErrorPPM = math.NaN()
	first, last := p.watch.Span()
	if p.t.Den != 0 {
		watched := p.watch.Result(last, 0)
		s.Cadence = &watched
	}
	took, mark := float64(last-first), float64(p.lastMark)
	if took <= 0 || mark <= 0 {
		return s
	}
	s.Span = time.Duration(took * float64(p.t.Mark(p.index)) / mark)
	if p.t.Den != 0 {
		s.ErrorPPM = (mark*float64(p.t.Num)/float64(p.t.Den)/took - 1) * 1e6
	}
	return s
}
