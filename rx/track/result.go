package track

import (
	"linerate/internal/cadence"
	"linerate/internal/probe"
)

// A Clock says what the sender's clock has to do with this host's.
type Clock uint8

const (
	Relative     Clock = iota // nothing: they are apart by some offset and may drift
	Same                      // both ends read one clock
	Synchronised              // apart by an offset that is known
)

// String is the name of the clock in reports.
func (c Clock) String() string {
	return [...]string{"relative", "same", "synchronised"}[c]
}

// A Settlement is what Finish has to know about the clocks.
type Settlement struct {
	Clock Clock
	// OffsetNS is, for Synchronised, what one-way delay has over arrival less
	// transmit time: common time less CLOCK_MONOTONIC here, less the same at the
	// sender. It is 0 where both stamp common time.
	OffsetNS int64
	ErrorNS  int64 // how wrong OffsetNS can be
}

// A Result is what a test came to. Of the total, Sent and Lost are right even
// if an end marker had no room for all flows; Bursts then lack the ends of
// those that it left out.
type Result struct {
	Summary
	Foreign uint64 // see Totals
	// Cadence is of the arrivals of first copies of all flows; nil without any, and
	// where several CPUs took them in at once.
	Cadence *cadence.Result
	Flows   []Flow // in ascending order of Number
	// DelayHistogram is of the total's Delay; nil without one, and where a drift was
	// removed: then only a sample is known.
	DelayHistogram []Bucket
}

// A Flow is one flow's part. Number is the sender's for Native, the order of
// appearance else; From is zero for Native.
type Flow struct {
	Number uint16
	From   probe.Source
	Summary
}

// A Summary is of one flow or of all. With Sent, Sent = Unique + Lost; without,
// Lost is a lower bound: nobody knows what came after the last arrival.
type Summary struct {
	Counts
	Sent             *uint64 // the sender's count; nil if it didn't come
	First, Last      int64   // arrivals, ns of CLOCK_MONOTONIC; they mean nothing without Packets
	ReorderExtentMax uint64  // packets (RFC 4737, section 4.2)
	Bursts           Bursts
	JitterNS         *int64       // RFC 3550's, of the total the mean over flows; nil before two packets
	IPDV             *Percentiles // of its absolute value; nil if none was defined
	IPDVUndefined    uint64       // first copies that came out of turn or behind a loss
	PDV              *Percentiles // delay less the least (RFC 5481); nil where Delay is
	Delay            *Delay       // nil without packets, and where it is known for all flows together only
}

// Percentiles are of a distribution in ns. N is how many values they rest on: a
// percentile p says little with less than 10/(1-p).
type Percentiles struct {
	N                        uint64
	Min, P50, P99, P999, Max int64
}

// Delay is one-way delay. For Relative it is delay above the least of any flow.
type Delay struct {
	Percentiles
	Clock   Clock
	ErrorNS int64 // how wrong each can be, for Synchronised
	// Drift is how much faster this host's clock ran than the sender's, in
	// ns a ns. It has been removed, and the percentiles but for the extremes are
	// of a random sample. Nil if it wasn't looked for: in a test of less than a
	// minute, or between clocks that agree.
	Drift *float64
}
