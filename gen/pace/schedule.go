// Package pace holds the schedule of a test: which burst is due when, how to
// wait for it, and how late it was.
package pace

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// A Burst is what the schedule hands to a path at once: packets of one flow
// and one size with consecutive sequence numbers.
type Burst struct {
	Flow  uint16        // index of the flow, from 0
	First uint64        // sequence number of the first packet, per flow from 0
	N     int           // packets
	Size  int           // UDP payload bytes of each
	Due   time.Duration // when the first is due, from the start of the schedule

	// Span is, for a path that spaces packets itself, from when the first is due to
	// when the packet after the last is; 0 where all leave together. At is the
	// CLOCK_MONOTONIC time in ns at which the first is due then, and Together how
	// many may leave together.
	Span     time.Duration
	At       int64
	Together int
}

// microsPerUnit is the resolution of a rate: a millionth of a bit, or of a
// packet, per second. It makes one packet a minute and 95 % of a link exact
// enough, and leaves 18 Tbit/s of room in 64 bits.
const microsPerUnit = 1_000_000

// forever is when what is never due is due.
const forever = time.Duration(math.MaxInt64)

// A Schedule says when each packet of a test is due. Packet k is due at
// cost(0..k-1) / rate in exact integer arithmetic, so it never drifts.
type Schedule struct {
	// Sizes is the cycle of UDP payload sizes in bytes; one entry unless the
	// test mixes sizes.
	Sizes []int
	// Costs has what each packet of the cycle takes of the rate: bits at the
	// layer that the rate counts, or 1 where the rate is in packets.
	Costs []uint64
	// MicroRate is the rate in millionths of a cost unit per second over all
	// flows; 0 means as fast as the path can. With a Profile it is the highest.
	MicroRate uint64
	// Profile is of a rate that changes; nil for one that does not.
	Profile Profile
	// Isochronous is of a test in bursts, in place of a rate; nil for any other. With
	// it there is one flow and one size, and MicroRate is the mean.
	Isochronous *Isochronous
	// Flows is the number of flows, walked in turn, one burst each.
	Flows int
	// Burst is the most packets planned back to back.
	Burst int
	// Most is the most packets sent back to back where that is what it takes to
	// hold the rate; Burst if that is more.
	Most int
	// Span is how long a burst may take that the path spaces itself, below a second;
	// 0 for one whose packets leave together. With it there is one flow, one size and
	// no Profile.
	Span time.Duration
	// Count ends the test after exactly so many packets; 0 for no such limit.
	Count uint64
	// Duration ends the test after floor(rate x Duration) packets, or at that
	// time when MicroRate is 0; 0 for no such limit.
	Duration time.Duration
	Share    Share // of this worker; all of it unless split
}

// Due is when packet k (from 0, over all flows) is due after the start, rounded
// down to a nanosecond. It is 0 for every packet of an unpaced schedule.
func (s *Schedule) Due(k uint64) time.Duration {
	if s.MicroRate == 0 {
		return 0
	}
	if s.Isochronous != nil {
		return s.Isochronous.due(s.Isochronous.of(k))
	}
	a := times(s.Cost(k), uint64(time.Second)*microsPerUnit)
	if s.Profile != nil {
		return s.Profile.due(a)
	}
	return a.after(s.MicroRate)
}

// deadline is when the packet before packet k has to have left: when k is due, or, as the
// packets of an isochronous burst are due at once, when the next burst is.
func (s *Schedule) deadline(k uint64) time.Duration {
	if s.Isochronous != nil {
		return s.Isochronous.due(s.Isochronous.of(k-1) + 1)
	}
	return s.Due(k)
}

// Cost is what the first k packets take of the rate, in the units of Costs.
func (s *Schedule) Cost(k uint64) uint64 {
	n := uint64(len(s.Costs))
	if n == 1 {
		return k * s.Costs[0]
	}
	var cycle uint64
	for _, c := range s.Costs {
		cycle += c
	}
	sum := k / n * cycle
	for _, c := range s.Costs[:k%n] {
		sum += c
	}
	return sum
}

// Packets is how many whole packets the rate allows in d: floor(rate x d), or those of
// the bursts that begin in it.
func (s *Schedule) Packets(d time.Duration) uint64 {
	if s.MicroRate == 0 || d <= 0 {
		return 0
	}
	if s.Isochronous != nil {
		return s.Isochronous.packets(d)
	}
	allowed := times(s.MicroRate, uint64(d))
	if s.Profile != nil {
		allowed = s.Profile.allowed(d)
	}
	// The greatest k with Cost(k) x 10^15 <= allowed, by bisection: exact for a
	// mix of sizes too, and done a few times a test.
	fits := func(k uint64) bool {
		cost, over := s.boundedCost(k)
		return !over && !times(cost, uint64(time.Second)*microsPerUnit).exceeds(allowed)
	}
	var low, high uint64 = 0, math.MaxInt64 // low fits, high does not
	for high-low > 1 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Gap is the mean time between two packets of this share at the highest rate, rounded
// down to a nanosecond; 0 where the schedule is unpaced.
func (s *Schedule) Gap() time.Duration {
	if s.MicroRate == 0 {
		return 0
	}
	cycle := uint64(len(s.Costs))
	gap := times(s.Cost(cycle), uint64(time.Second)*microsPerUnit).after(s.MicroRate) / time.Duration(cycle)
	if s.Share.Workers > 1 {
		gap = gap * time.Duration(s.Flows) / time.Duration(s.ownFlows(uint64(s.Flows)))
	}
	return gap
}

// boundedCost is Cost, and whether it would pass 64 bits.
func (s *Schedule) boundedCost(k uint64) (cost uint64, over bool) {
	most := slices.Max(s.Costs)
	if hi, lo := bits.Mul64(k, most); hi != 0 || lo > math.MaxInt64 {
		return 0, true
	}
	return s.Cost(k), false
}
