package pace

import (
	"math"
	"time"
)

const (
	// MaxDebt is how far behind its schedule a sender may fall and still make
	// up for it. A machine taken away for 2 to 50 ms is ordinary.
	MaxDebt = 100 * time.Millisecond
	// Debt is repaid with gaps of 4/5 of the nominal ones: 1.25 times the rate.
	repayNum, repayDen = 4, 5
	// lateFloor keeps the jitter of a clock and a wake-up from being called late.
	lateFloor = 10 * time.Microsecond
)

// A Pacer walks a schedule: it says which burst is next and when it may leave,
// and keeps account of what left late or was given up. One goroutine owns it.
type Pacer struct {
	s     Schedule
	start int64 // CLOCK_MONOTONIC ns of the schedule's start

	index   uint64        // the next packet's place in the whole schedule
	planned uint64        // packets of the whole schedule
	shift   time.Duration // debt given up: the schedule was re-anchored by so much
	flow    int           // whose turn it is
	inTurn  int           // packets of this turn's burst still to go
	next    []uint64      // next sequence number of each flow

	gaps  gaps
	stats Stats
}

// NewPacer starts a schedule at the given CLOCK_MONOTONIC time in ns.
func NewPacer(s Schedule, start int64) *Pacer {
	p := &Pacer{s: s, start: start, flow: s.Share.Worker, next: make([]uint64, s.Flows), inTurn: s.Burst}
	p.index = uint64(s.Share.Worker) * uint64(s.Burst)
	p.planned = math.MaxUint64
	if s.Duration > 0 && s.MicroRate > 0 {
		p.planned = s.Packets(s.Duration)
	}
	if s.Count > 0 {
		p.planned = min(p.planned, s.Count)
	}
	p.gaps.init(s.MicroRate > 0 && s.Burst == 1)
	return p
}

// Next is the burst to send and the earliest CLOCK_MONOTONIC time in ns at which
// it may leave; ok is false when the schedule is done. now is the time in ns.
func (p *Pacer) Next(now int64) (b Burst, at int64, ok bool) {
	if p.s.Duration > 0 && p.pastEnd(now) {
		p.giveUpRest()
		return b, 0, false
	}
	p.forgive(now)
	if p.index >= p.planned {
		return b, 0, false
	}
	cycle := uint64(len(p.s.Sizes))
	pos := p.index % cycle
	n := uint64(p.inTurn)
	n = min(n, p.planned-p.index)
	if cycle > 1 {
		n = min(n, p.sameSize(pos))
	}
	b = Burst{
		Flow:  uint16(p.flow),
		First: p.next[p.flow],
		N:     int(n),
		Size:  p.s.Sizes[pos],
		Due:   p.s.Due(p.index) + p.shift,
	}
	return b, p.departure(b.Due), true
}

// departure is when a burst may leave: when it is due, or, in debt, no sooner
// after the last one than the repayment rate allows.
func (p *Pacer) departure(due time.Duration) int64 {
	at := p.start + int64(due)
	if p.stats.Packets > 0 && p.s.MicroRate > 0 {
		gap := int64(due - p.shift - p.gaps.lastDue)
		at = max(at, p.gaps.last+gap*repayNum/repayDen)
	}
	return at
}

// Sent accounts for the first n packets of b, which left at the CLOCK_MONOTONIC
// time in ns. waited says whether the sender had to wait for the burst.
func (p *Pacer) Sent(b Burst, n int, at int64, waited bool) {
	if n == 0 {
		return
	}
	if p.s.MicroRate > 0 {
		late := time.Duration(at-p.start) - b.Due
		if late > lateFloor && late > p.s.Due(p.index+uint64(b.N))-p.s.Due(p.index) {
			p.stats.Late += uint64(n)
		}
	}
	p.gaps.add(b.Due-p.shift, at, n, waited, p.s.Cost(p.index+uint64(n))-p.s.Cost(p.index))
	p.next[b.Flow] += uint64(n)
	p.index += uint64(n)
	p.stats.Packets += uint64(n)
	p.stats.PayloadBytes += uint64(n) * uint64(b.Size)
	if p.inTurn -= n; p.inTurn <= 0 {
		p.inTurn = p.s.Burst
		var others int
		p.flow, others = p.s.after(p.flow)
		p.index += uint64(others) * uint64(p.s.Burst)
	}
}

// Totals is what left so far, and what was late or given up.
func (p *Pacer) Totals() (packets, payloadBytes, late, shortfall uint64) {
	return p.stats.Packets, p.stats.PayloadBytes, p.stats.Late, p.stats.Shortfall
}

// sameSize is how many packets from a place in the cycle have that place's size.
func (p *Pacer) sameSize(pos uint64) uint64 {
	n := pos + 1
	for n < uint64(len(p.s.Sizes)) && p.s.Sizes[n] == p.s.Sizes[pos] {
		n++
	}
	return n - pos
}

// pastEnd says whether the time of a test is over: its duration, and for a paced
// one the 100 ms in which debt may still be repaid.
func (p *Pacer) pastEnd(now int64) bool {
	end := p.s.Duration
	if p.s.MicroRate > 0 {
		end += MaxDebt
	}
	return now-p.start >= int64(end)
}

// giveUpRest counts what was due and can't leave any more.
func (p *Pacer) giveUpRest() {
	if p.s.MicroRate > 0 && p.planned > p.index {
		p.giveUp(p.index)
	}
}

// giveUp ends the schedule at a place before the planned one.
func (p *Pacer) giveUp(end uint64) {
	p.stats.Shortfall += p.s.own(p.planned) - p.s.own(end)
	p.planned = end
}

// forgive gives up debt beyond MaxDebt: the schedule is re-anchored, and a test
// with a planned duration sends so many packets fewer.
func (p *Pacer) forgive(now int64) {
	if p.s.MicroRate == 0 || p.index >= p.planned {
		return
	}
	debt := time.Duration(now-p.start) - p.s.Due(p.index) - p.shift
	if debt <= MaxDebt {
		return
	}
	p.shift += debt - MaxDebt
	if p.s.Duration == 0 {
		return // a count is a count: it takes longer
	}
	planned := p.s.Packets(p.s.Duration - p.shift)
	if p.s.Count > 0 {
		planned = min(planned, p.s.Count)
	}
	if planned = max(planned, p.index); planned < p.planned {
		p.giveUp(planned)
	}
}
