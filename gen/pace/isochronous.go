package pace

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// An Isochronous is bursts of given sizes at an even beat, as the frames of a video:
// burst i is due at i / rate, and all of its packets with it. Behind the last of them
// nothing is due.
type Isochronous struct {
	microRate uint64   // bursts a second, in millionths
	ends      []uint64 // of each burst, the packets up to its end
}

// NewIsochronous takes bursts a second in millionths, and the packets of each burst,
// at least one.
func NewIsochronous(microRate uint64, packets []uint64) *Isochronous {
	b := &Isochronous{microRate, make([]uint64, len(packets))}
	var sum uint64
	for i, n := range packets {
		sum += n
		b.ends[i] = sum
	}
	return b
}

// BurstsIn is how many bursts begin in a time, at so many a second in millionths, of
// which there are fewer than 10^15.
func BurstsIn(d time.Duration, microRate uint64) uint64 {
	hi, lo := bits.Mul64(microRate, uint64(d))
	n, rest := bits.Div64(hi, lo, uint64(time.Second)*microsPerUnit)
	if rest > 0 {
		n++
	}
	return n
}

// of is the burst that packet k belongs to.
func (b *Isochronous) of(k uint64) int {
	i, _ := slices.BinarySearch(b.ends, k+1)
	return i
}

// due is when a burst is, rounded down to 1 ns.
func (b *Isochronous) due(burst int) time.Duration {
	return times(uint64(burst), uint64(time.Second)*microsPerUnit).after(b.microRate)
}

// left is how many packets of its burst are to come from packet k on.
func (b *Isochronous) left(k uint64) uint64 { return b.ends[b.of(k)] - k }

// packets is how many the bursts have that begin in a time.
func (b *Isochronous) packets(d time.Duration) uint64 {
	n := min(BurstsIn(d, b.microRate), uint64(len(b.ends)))
	if n == 0 {
		return 0
	}
	return b.ends[n-1]
}

// SentBursts is the account of what left of isochronous bursts, in bytes of payload.
// A burst that was given up whole is none.
type SentBursts struct {
	Bursts       uint64
	Mean, StdDev float64 // bytes of each; the deviation is that of all, not of a sample
}

// burstAccount adds up bursts as they leave.
type burstAccount struct {
	burst        int
	bytes        uint64 // of this burst
	n            uint64 // of those before it
	sum, squares float64
}

// add counts bytes of a burst; bursts come in order.
func (a *burstAccount) add(burst int, bytes uint64) {
	if burst != a.burst {
		a.end()
		a.burst = burst
	}
	a.bytes += bytes
}

func (a *burstAccount) end() {
	if a.bytes > 0 {
		a.n++
		a.sum += float64(a.bytes)
		a.squares += float64(a.bytes) * float64(a.bytes)
		a.bytes = 0
	}
}

func (a *burstAccount) result() *SentBursts {
	a.end()
	r := &SentBursts{Bursts: a.n}
	if a.n > 0 {
		n := float64(a.n)
		r.Mean = a.sum / n
		r.StdDev = math.Sqrt(max(0, a.squares/n-r.Mean*r.Mean))
	}
	return r
}
