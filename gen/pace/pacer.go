package pace

import (
	"math"
	"time"

	"linerate/internal/cadence"
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

	slot    uint64        // of the packets of this share, the one that is next
	end     uint64        // that at which the test ends
	due     time.Duration // when the next is due
	forgone time.Duration // time whose packets were given up
	flow    int           // whose turn it is
	inTurn  int           // packets of this turn's burst still to go
	next    []uint64      // next sequence number of each flow

	together uint64        // packets that left last
	unused   time.Duration // of the time before they left, see save

	watch    *cadence.Watch // of departures
	gap      time.Duration  // that there ought to be before the next
	firstDue time.Duration  // when the first and the last were due, time forgone left aside
	lastDue  time.Duration
	cost     uint64 // what all that left took of the rate
	unit     uint64 // and each of those that left last
	bursts   burstAccount
	stats    Stats
}

// NewPacer starts a schedule at the given CLOCK_MONOTONIC time in ns.
func NewPacer(s Schedule, start int64) *Pacer {
	p := &Pacer{s: s, start: start, flow: s.Share.Worker, next: make([]uint64, s.Flows), inTurn: s.Burst}
	p.s.Most = max(s.Most, s.Burst)
	p.end = math.MaxInt64
	if s.Duration > 0 && s.MicroRate > 0 {
		p.end = p.s.own(s.Packets(s.Duration))
	}
	if s.Count > 0 {
		p.end = min(p.end, p.s.own(s.Count))
	}
	p.watch = cadence.New(start)
	p.due = p.s.ownDue(0)
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
	if p.slot >= p.end {
		return b, 0, false
	}
	if p.s.Span > 0 {
		b, at = p.spaced()
		return b, at, true
	}
	n := p.end - p.slot
	if len(p.s.Sizes) > 1 {
		n = min(n, p.sameSize())
	}
	if p.s.Isochronous != nil {
		n = min(n, p.s.Isochronous.left(p.slot))
	}
	b = Burst{
		Flow:  uint16(p.flow),
		First: p.next[p.flow],
		N:     int(p.ready(now, n)),
		Size:  p.s.Sizes[p.s.inCycle(p.slot)],
		Due:   p.due,
	}
	return b, p.departure(), true
}

// spaceAhead is how much earlier than its first packet is due a burst is begun that
// the path spaces itself: it takes some 25 µs to begin.
const spaceAhead = 60 * time.Microsecond

// spacedMost bounds a burst that the path spaces itself where the rate is more than it
// can: a stop must not take long.
const spacedMost = 1 << 16

// spaced is the burst that the path is to space itself, and when it is begun.
func (p *Pacer) spaced() (b Burst, at int64) {
	n := min(p.s.Packets(p.due+p.s.Span), p.end)
	b = Burst{
		First: p.next[0], N: 1, Size: p.s.Sizes[0], Due: p.due,
		At: p.start + int64(p.due), Together: p.s.Burst,
	}
	if n > p.slot+1 {
		b.N = int(min(n-p.slot, spacedMost))
	}
	b.Span = p.s.Due(p.slot+uint64(b.N)) - p.due
	return b, b.At - int64(spaceAhead)
}

// Spaced accounts for the first n packets of b, which the path spaced; late is how
// many of all that it did left late.
func (p *Pacer) Spaced(b Burst, n int, late uint64) {
	p.take(b, n)
	p.stats.Late = late
}

// Watched takes how the packets left that the path spaced; nil if none did.
func (p *Pacer) Watched(w *cadence.Watch) {
	if w != nil {
		p.watch = w
	}
}

// ready is how many of the next packets, at most n, go at once: as many as are
// planned back to back; or, so that a path that takes longer for a call than the gap
// between two packets still holds the rate, as many as are due by now, but no more
// than 1.25 times the rate allows since the last call, and no more than twice as many
// as then, as a stall is no such call.
func (p *Pacer) ready(now int64, n uint64) uint64 {
	ready := min(n, uint64(p.inTurn))
	n = min(n, uint64(p.s.Most), 2*p.together)
	if ready >= n || p.s.MicroRate == 0 {
		return ready
	}
	_, last := p.watch.Span()
	by, allowed := time.Duration(now-p.start), p.due+(time.Duration(now-last)+p.unused)*repayDen/repayNum
	for ready < n && p.s.ownDue(p.slot+ready) <= by && p.s.ownDue(p.slot+ready+1) <= allowed {
		ready++
	}
	return ready
}

// departure is when a burst may leave: when it is due, or, in debt, no sooner
// after the last one than the repayment rate allows; isochronous bursts have none.
func (p *Pacer) departure() int64 {
	at := p.start + int64(p.due)
	if p.stats.Packets > 0 && p.s.MicroRate > 0 && p.s.Isochronous == nil {
		gap := int64(p.due - p.forgone - p.lastDue)
		_, last := p.watch.Span()
		at = max(at, last+gap*repayNum/repayDen)
	}
	return at
}

// Sent accounts for the first n packets of b, which left at the CLOCK_MONOTONIC
// time in ns.
func (p *Pacer) Sent(b Burst, n int, at int64) {
	if n == 0 {
		return
	}
	if p.stats.Packets == 0 {
		p.firstDue = b.Due - p.forgone
	}
	p.lastDue = b.Due - p.forgone
	after := p.s.place(p.slot) + uint64(n)
	p.take(b, n)
	p.save(at, (p.due-b.Due)*repayNum/repayDen, n)
	if late := time.Duration(at-p.start) - b.Due; p.s.MicroRate > 0 && late > lateFloor && late > p.s.deadline(after)-b.Due {
		p.stats.Late += uint64(n)
	}
	p.watch.Add(at, cadence.Load{Packets: uint64(n), Bytes: uint64(n) * uint64(b.Size)}, int64(p.gap))
	p.gap = (p.due - b.Due) / time.Duration(n)
	if iso := p.s.Isochronous; iso != nil {
		p.gap = iso.due(1) // between bursts
	}
}

// save keeps what n packets that left at a time in ns, and may take so long at the rate of
// repayment, left over of the time since the call before: of no more than one of them, as
// a stall is no call. Without it, a path whose calls take 1.1 gaps would never be allowed
// the second packet that it needs once in a while.
func (p *Pacer) save(at int64, take time.Duration, n int) {
	_, last := p.watch.Span()
	p.unused = min(max(p.unused+time.Duration(at-last)-take, 0), take/time.Duration(n))
}

// take makes the first n packets of b sent.
func (p *Pacer) take(b Burst, n int) {
	if p.s.Isochronous != nil && n > 0 {
		p.bursts.add(p.s.Isochronous.of(p.slot), uint64(n)*uint64(b.Size))
	}
	p.together = uint64(n)
	p.unit = p.s.Costs[p.s.inCycle(p.slot)]
	p.cost += uint64(n) * p.unit
	p.slot += uint64(n)
	p.due = p.s.ownDue(p.slot)
	p.next[b.Flow] += uint64(n)
	p.stats.Packets += uint64(n)
	p.stats.PayloadBytes += uint64(n) * uint64(b.Size)
	if p.inTurn -= n; p.inTurn <= 0 {
		p.inTurn = p.s.Burst
		p.flow = p.s.after(p.flow)
	}
}

// Totals is what left so far, and what was late or given up.
func (p *Pacer) Totals() (packets, payloadBytes, late, shortfall uint64) {
	return p.stats.Packets, p.stats.PayloadBytes, p.stats.Late, p.stats.Shortfall
}

// sameSize is how many of the next packets, at most a cycle, have the next one's size.
func (p *Pacer) sameSize() uint64 {
	size, n := p.s.Sizes[p.s.inCycle(p.slot)], uint64(1)
	for n < uint64(len(p.s.Sizes)) && p.s.Sizes[p.s.inCycle(p.slot+n)] == size {
		n++
	}
	return n
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
	if p.s.MicroRate > 0 && p.end > p.slot {
		p.stats.Shortfall += p.end - p.slot
		p.end = p.slot
	}
}

// forgive gives up debt beyond MaxDebt: the packets that were due before are
// passed over, whole cycles of sizes at a time. A test of so many packets takes
// longer for it; one of a duration, or of isochronous bursts, sends so many fewer.
func (p *Pacer) forgive(now int64) {
	if p.s.MicroRate == 0 || p.slot >= p.end {
		return
	}
	late := time.Duration(now-p.start) - MaxDebt
	if late <= p.due {
		return
	}
	cycle := uint64(len(p.s.Sizes))
	due := p.s.own(p.s.Packets(late))
	passed := (due - min(p.slot, due) + cycle - 1) / cycle * cycle
	if p.s.Duration > 0 || p.s.Isochronous != nil { // whose bursts are so many
		passed = min(passed, p.end-p.slot)
		p.stats.Shortfall += passed
	} else {
		p.end += passed
	}
	p.slot += passed
	before := p.due
	p.due = p.s.ownDue(p.slot)
	p.forgone += p.due - before
}
