package track

import (
	"math"

	"linerate/internal/probe"
)

const (
	// slack is how far a number may be ahead of those before it without more
	// ado, and ratePackets how much farther for each rateNS of silence: 100 Gbit/s
	// is 148.8 packets of 64 bytes a µs.
	slack       = 8 * Window
	ratePackets = 3
	rateNS      = 20
)

// unknown stands for a count that the sender hasn't told.
const unknown = math.MaxUint64

// An arrival is what a datagram with the test's header comes down to.
type arrival struct {
	run     uint16
	seq     uint64 // unwrapped
	size    int    // payload bytes
	sent    int64  // ns, as the header has it
	at      int64  // ns of this host's CLOCK_MONOTONIC
	corrupt bool
}

// A flow is the state of one flow: 1 KiB of window, 1 KiB of bursts, and what its
// reordering needs.
type flow struct {
	window
	Counts
	jumps  jumps
	extent uint64 // greatest reordering extent, in packets
	vary   variation
	delays *delays // its own or the one that later flows share; nil until it counts

	number      uint16
	from        probe.Source
	sent        uint64 // the sender's count, or unknown
	first, last int64  // arrivals, ns
	doubt       doubt
}

// A doubt is a number too far ahead to be believed, and how often it came in a
// row.
type doubt struct {
	arrival
	copies uint64
}

func newFlow() *flow {
	f := &flow{sent: unknown}
	f.window.reset()
	return f
}

// unwrap extends a sequence number of so many bits to 64 (RFC 1982); ok is
// false for a number before the first.
func (f *flow) unwrap(seq uint64, bits uint) (uint64, bool) {
	if f.Packets == 0 {
		return seq, true // there is nothing that it could be relative to
	}
	ahead := int64((seq-f.next)<<(64-bits)) >> (64 - bits)
	return f.next + uint64(ahead), ahead >= 0 || f.next >= uint64(-ahead)
}

// plausible reports whether any link could have carried the packets that would
// be missing before this one.
func (f *flow) plausible(a *arrival) bool {
	if a.seq < f.next || a.seq-f.next <= slack {
		return true
	}
	silence := uint64(max(0, a.at-f.last))
	return f.Packets > 0 && a.seq-f.next-slack <= silence/rateNS*ratePackets
}

// carriesOn reports whether an arrival bears out the number in doubt, as RFC
// 3550, appendix A.1 has it, but lets packets between be lost or change places.
func (d *doubt) carriesOn(a *arrival) bool {
	return d.copies > 0 && d.run == a.run && a.seq != d.seq && a.seq-d.seq+Window <= 2*Window
}

// count files an arrival; it reports whether it is a first copy.
func (f *flow) count(a *arrival) bool {
	if f.Packets == 0 {
		f.first = a.at
	}
	f.last = a.at
	f.Packets++
	f.PayloadBytes += uint64(a.size)
	if a.corrupt {
		f.Corrupt++
	}
	switch position := f.Unique + 1; {
	case a.seq >= f.next:
		if a.seq > f.next {
			f.jumps.add(a.seq, position, f.next)
		}
		f.advance(a.seq)
	case f.behind(a.seq):
		f.BeyondWindow++
		return false
	case f.has(a.seq):
		f.Duplicates++
		return false
	default:
		f.fill(a.seq)
		f.Reordered++
		f.extent = max(f.extent, position-f.jumps.over(a.seq))
	}
	f.Unique++
	f.UniquePayloadBytes += uint64(a.size)
	return true
}

// counts are the flow's so far, with what is missing below the highest number
// as lost.
func (f *flow) counts() Counts {
	c := f.Counts
	c.Lost = f.next - c.Unique
	return c
}

// jitterNS is RFC 3550's estimate; nil before the second first copy.
func (f *flow) jitterNS() *int64 {
	if f.Unique < 2 {
		return nil
	}
	ns := f.vary.jitter >> 4
	return &ns
}
