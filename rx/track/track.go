// Package track is the exact counter: it takes every datagram that a receive
// path saw and says, per flow, what was lost, duplicated and reordered, and how
// late it was, in constant memory. It opens no sockets and reads no clocks.
package track

import (
	"math"
	"net/netip"
	"sync/atomic"

	"linerate/internal/cadence"
	"linerate/internal/probe"
)

const (
	// sourcesMost is the most flows that their sources tell apart.
	sourcesMost = 4096
	// ownDelays is how many flows have distributions of delay of their own.
	// Those that come later share one, which shows in the total alone.
	ownDelays = 64
)

// A Config says what to count.
type Config struct {
	Format probe.Format
	// Pattern is what stands in payloads behind the header; nil verifies nothing.
	Pattern *probe.Pattern
	// Most is how many packets are counted; 0 for no limit. What comes later is
	// as if it had not come.
	Most uint64
	// Selected says that only some flows may come here: those of which nothing came
	// are not missed, whatever an end marker tells of them.
	Selected bool
	// WallOffset is this host's CLOCK_REALTIME - CLOCK_MONOTONIC in ns, for the
	// formats that carry wall time.
	WallOffset int64
}

// Capture is how many bytes at the front of a payload the tracker looks at.
func (c Config) Capture() int {
	switch {
	case c.Pattern != nil:
		return math.MaxUint16
	case c.Format == probe.Native:
		return probe.MaxEndSize
	default:
		return c.Format.Size()
	}
}

// Counts are sums of packets and of payload bytes. Packets = Unique +
// Duplicates + BeyondWindow.
type Counts struct {
	Packets            uint64
	PayloadBytes       uint64
	Unique             uint64 // first copies
	UniquePayloadBytes uint64
	Lost               uint64
	Duplicates         uint64
	Reordered          uint64 // first copies behind a greater number (RFC 4737)
	BeyondWindow       uint64 // older than Window: duplicate or late, none can tell
	Corrupt            uint64 // of Packets, those whose payload differs from the pattern
}

// Add sums counts up.
func (c *Counts) Add(o Counts) {
	c.Packets += o.Packets
	c.PayloadBytes += o.PayloadBytes
	c.Unique += o.Unique
	c.UniquePayloadBytes += o.UniquePayloadBytes
	c.Lost += o.Lost
	c.Duplicates += o.Duplicates
	c.Reordered += o.Reordered
	c.BeyondWindow += o.BeyondWindow
	c.Corrupt += o.Corrupt
}

// Totals are the counts of all flows at some moment. Lost is provisional: what
// is missing below each flow's greatest number may still come.
type Totals struct {
	Counts
	// Foreign datagrams are in no other count: they have another format or run,
	// too many flows came before them, or their number can't be.
	Foreign     uint64
	JitterNS    *int64 // mean over the flows (RFC 3550); nil before a flow's second packet
	First, Last int64  // arrivals, ns of CLOCK_MONOTONIC; they mean nothing without Packets
}

// A Tracker counts what one receive queue hands it. One goroutine owns it.
type Tracker struct {
	config    Config
	seqBits   uint // width of a sequence number
	timeBits  uint // width of a transmit time
	numbered  []*flow
	sources   map[probe.Source]*flow
	recent    *flow   // of sources, the one that was asked for last
	flows     []*flow // those that count, in the order in which they appeared
	started   bool    // a packet counted, so run and base are set
	run       uint16
	base      int64 // transit that stands for 0, ns
	first     int64 // arrivals of the first and the latest packet that counts, ns
	last      int64
	source    probe.Source // of the first packet that counted
	foreign   uint64
	kernel    uint64 // of foreign, those that Load brought
	otherRuns uint64 // of foreign, probes of another run
	packets   uint64 // that counted, of all flows
	end       *probe.EndMarker
	later     *delays // of the flows beyond ownDelays
	skew      skew
	watch     *cadence.Watch          // of first copies, all flows; nil until one came
	agreed    *atomic.Pointer[origin] // with the other trackers of the test; nil where there are none
}

// New returns a tracker that has seen nothing.
func New(c Config) *Tracker {
	t := &Tracker{config: c, seqBits: 64, timeBits: 64, skew: skew{sample: newSample()}}
	switch c.Format {
	case probe.Native:
		t.config.WallOffset = 0
		t.seqBits, t.timeBits = probe.NativeBits, probe.NativeBits
	case probe.IPerf3:
		t.seqBits = 32
	}
	if c.Format != probe.Native {
		t.sources = make(map[probe.Source]*flow)
	}
	return t
}

// Datagram accounts for one UDP payload. p may hold only its first bytes, of
// which Config.Capture suffice, and isn't kept; size is its true length. from
// tells flows apart for formats without a flow number. at is the arrival in ns
// of this host's CLOCK_MONOTONIC.
//
// A native tracker keeps to the first run that it believes. A number farther
// ahead than any link could have carried is foreign until another number close
// to it bears it out; then both count. So neither a late start nor a forged
// number spoils the result.
func (t *Tracker) Datagram(p []byte, size int, from probe.Source, at int64) {
	if t.full() {
		return
	}
	h, kind := t.config.Format.Parse(p)
	var ok bool
	switch kind {
	case probe.Data:
		ok = t.data(p, h, size, from, at)
	case probe.End:
		ok = t.marker(p, h, from)
	}
	if !ok {
		t.foreign++
	}
}

// full reports whether as many packets have been counted as were asked for.
func (t *Tracker) full() bool { return t.config.Most > 0 && t.packets >= t.config.Most }

// data reports whether the packet counts.
func (t *Tracker) data(p []byte, h probe.Header, size int, from probe.Source, at int64) bool {
	if t.otherRun(h.Run) {
		t.otherRuns++
		return false
	}
	f := t.flow(h.Flow, from)
	if f == nil {
		return false
	}
	seq, ok := f.unwrap(h.Seq, t.seqBits)
	if !ok || seq >= f.sent {
		return false
	}
	a := arrival{run: h.Run, seq: seq, size: size, sent: h.Sent, at: at, corrupt: t.corrupt(p)}
	if !t.started {
		t.source = from
	}
	if !f.plausible(&a) {
		return t.question(f, &a)
	}
	f.doubt.copies = 0
	t.accept(f, &a)
	return true
}

// IPv6 reports whether the first packet that counted came over IPv6.
func (t *Tracker) IPv6() bool {
	return t.started && !netip.AddrFrom16(t.source.Addr).Is4In6()
}

// corrupt reports whether a payload differs from the pattern that it should hold.
func (t *Tracker) corrupt(p []byte) bool {
	if t.config.Pattern == nil {
		return false
	}
	reserved := t.config.Format.Reserved()
	return len(p) > reserved && !t.config.Pattern.Check(p[reserved:], reserved)
}

// question takes an implausible number. It counts only once another bears it
// out, and is foreign until then.
func (t *Tracker) question(f *flow, a *arrival) bool {
	switch d := f.doubt; {
	case d.carriesOn(a):
		f.doubt.copies = 0
		t.foreign -= d.copies
		for range d.copies {
			t.accept(f, &d.arrival)
		}
		t.accept(f, a)
		return true
	case d.copies > 0 && d.run == a.run && d.seq == a.seq:
		f.doubt.copies++
	default:
		f.doubt = doubt{*a, 1}
	}
	return false
}

// accept counts a packet of the test.
func (t *Tracker) accept(f *flow, a *arrival) {
	if t.full() {
		return
	}
	if !t.started && !t.start(a) {
		t.foreign++
		return
	}
	if f.delays == nil {
		t.enter(f)
	}
	t.first, t.last = min(t.first, a.at), max(t.last, a.at) // one that was in doubt came before others
	t.packets++
	if !f.count(a) {
		return
	}
	t.watch.Add(a.at, cadence.Load{Packets: 1, Bytes: uint64(a.size)}, t.watch.Mean())
	transit := t.wrap(t.raw(a) - t.base)
	f.delays.transit.record(transit)
	if ipdv, ok := f.vary.next(a.seq, transit); ok {
		f.delays.ipdv.record(abs(ipdv))
	}
	t.skew.add(point{a.at - transit, transit})
}

// start takes the first packet that counts. A marker of another run that came
// before it is a straggler.
func (t *Tracker) start(a *arrival) bool {
	t.run, t.first, t.base = a.run, a.at, t.raw(a)
	if t.started = t.agree(); !t.started {
		return false
	}
	t.watch = cadence.New(a.at)
	if t.end != nil && t.end.Run != a.run {
		t.end = nil
	}
	return true
}

// raw is an arrival's time less the one in its header, modulo 2^timeBits ns.
func (t *Tracker) raw(a *arrival) int64 { return a.at + t.config.WallOffset - a.sent }

// wrap takes ns modulo 2^timeBits to the signed number closest to 0.
func (t *Tracker) wrap(ns int64) int64 {
	unused := 64 - t.timeBits
	return ns << unused >> unused
}

// flow finds or makes the state of a flow; nil if there are too many.
func (t *Tracker) flow(number uint16, from probe.Source) *flow {
	if t.config.Format == probe.Native {
		t.makeRoom(number)
		if t.numbered[number] == nil {
			t.numbered[number] = newFlow()
			t.numbered[number].number = number
		}
		return t.numbered[number]
	}
	if t.recent != nil && t.recent.from == from {
		return t.recent
	}
	f := t.sources[from]
	if f == nil {
		if len(t.sources) == sourcesMost {
			return nil
		}
		f = newFlow()
		f.from = from
		t.sources[from] = f
	}
	t.recent = f
	return f
}

// makeRoom makes the table of numbered flows long enough for one.
func (t *Tracker) makeRoom(number uint16) {
	if more := int(number) + 1 - len(t.numbered); more > 0 {
		t.numbered = append(t.numbered, make([]*flow, more)...)
	}
}

// enter makes a flow count.
func (t *Tracker) enter(f *flow) {
	if t.config.Format != probe.Native {
		f.number = uint16(len(t.flows))
	}
	f.delays = t.later
	if len(t.flows) < ownDelays {
		f.delays = newDelays()
	} else if t.later == nil {
		t.later = newDelays()
		f.delays = t.later
	}
	t.flows = append(t.flows, f)
	t.tell(f)
}

// Started reports whether a packet of the test has come.
func (t *Tracker) Started() bool { return t.started }

// LastArrival is when the latest packet of the test came, in ns of
// CLOCK_MONOTONIC; it means nothing before Started.
func (t *Tracker) LastArrival() int64 { return t.last }

// OtherRuns is how many of the foreign datagrams were probes of another run than
// the one that counts: from a second sender, or from one that was restarted.
func (t *Tracker) OtherRuns() uint64 { return t.otherRuns }

// Totals are the counts so far.
func (t *Tracker) Totals() Totals {
	sum := Totals{Foreign: t.foreign, JitterNS: meanJitter(t.flows), First: t.first, Last: t.last}
	for _, f := range t.flows {
		sum.Add(f.counts())
	}
	return sum
}

// meanJitter is the mean of the flows' jitter in ns; nil if none has any yet.
func meanJitter(flows []*flow) *int64 {
	var sum, n int64
	for _, f := range flows {
		if ns := f.jitterNS(); ns != nil {
			sum += *ns
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= n
	return &sum
}
