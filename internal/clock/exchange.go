// Package clock tells how far two clocks are apart from exchanges of packets between
// them.
package clock

import "time"

// An Exchange is a packet to a reflector and its answer, in ns: T1 and T4 by the
// clock of the sender, when the packet left and the answer came; T2 and T3 by that
// of the reflector, when the packet came and the answer left.
type Exchange struct{ T1, T2, T3, T4 int64 }

// RoundTrip is the time on the way there and back, without what the reflector took
// (RFC 8762 section 4).
func (e Exchange) RoundTrip() time.Duration { return time.Duration(e.T4 - e.T1 - (e.T3 - e.T2)) }

// TwiceOffset is twice what the reflector's clock is ahead in ns: twice, as it may end
// in a half (RFC 5905 section 8). With unequal ways there and back the offset is wrong
// by half their difference, and so by half of RoundTrip at most.
func (e Exchange) TwiceOffset() int64 { return e.T2 - e.T1 + e.T3 - e.T4 }

// Best is the index of the exchange to take the offset from, the one of least round
// trip (RFC 5905 section 10); -1 of none.
func Best(exchanges []Exchange) int {
	best := -1
	for i, e := range exchanges {
		if best < 0 || e.RoundTrip() < exchanges[best].RoundTrip() {
			best = i
		}
	}
	return best
}
