package track

import "math/bits"

const (
	exactBursts = 63      // longest loss period with a count of its own
	burstKinds  = 63 + 58 // and one for each power of two from 64 to 2^63
)

// Bursts is the distribution of the lengths of loss periods: maximal runs of
// consecutive numbers that were lost (RFC 3357).
type Bursts struct {
	Gaps uint64 // loss periods
	Lost uint64 // packets lost in them
	Max  uint64 // longest, in packets

	count [burstKinds]uint64
}

// kind is the index in count of a length of 1 or more.
func kind(length uint64) int {
	if length <= exactBursts {
		return int(length) - 1
	}
	return exactBursts + bits.Len64(length) - bits.Len64(exactBursts+1)
}

// longest is the greatest length of a kind.
func longest(kind int) uint64 {
	if kind < exactBursts {
		return uint64(kind) + 1
	}
	return (exactBursts+1)<<(kind-exactBursts+1) - 1
}

func (b *Bursts) add(length uint64) {
	b.Gaps++
	b.Lost += length
	b.Max = max(b.Max, length)
	b.count[kind(length)]++
}

func (b *Bursts) merge(o *Bursts) {
	b.Gaps += o.Gaps
	b.Lost += o.Lost
	b.Max = max(b.Max, o.Max)
	for i, n := range o.count {
		b.count[i] += n
	}
}

// P50 is the median length: exact up to 63 packets, above that the upper end of
// its power of two, but at most Max. It is 0 if nothing was lost.
func (b *Bursts) P50() uint64 {
	var below uint64
	for i, n := range b.count {
		if below += n; n > 0 && below >= rank(b.Gaps, 500_000) {
			return min(longest(i), b.Max)
		}
	}
	return 0
}
