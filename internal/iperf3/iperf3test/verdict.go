// Package iperf3test tells tests what a stock iperf3 says of a stream.
package iperf3test

import "math"

// A Verdict is what a stock iperf3 of 3.2 or later says of one stream that it
// receives. It is a model of its arithmetic, faults included: a copy that comes
// twice takes back a loss, and what is lost at the end is never seen. The zero
// value is ready to use.
type Verdict struct {
	Packets    int64   // the highest number so far, no count of arrivals
	Lost       int64   // "errors" in the results
	OutOfOrder int64   // late ones and copies alike
	Jitter     float64 // in the unit of Delay

	transit float64
	delays  int
}

// Arrive counts a datagram by its number, from 1.
func (v *Verdict) Arrive(number int64) {
	if number > v.Packets {
		v.Lost += number - v.Packets - 1
		v.Packets = number
		return
	}
	v.OutOfOrder++
	if v.Lost > 0 {
		v.Lost--
	}
}

// Delay takes a datagram's arrival less its time of sending, by whatever clocks,
// into the jitter (RFC 1889 A.8). iperf3 folds it: it has no sign.
func (v *Verdict) Delay(transit float64) {
	transit = math.Abs(transit)
	if v.delays++; v.delays > 1 {
		v.Jitter += (math.Abs(transit-v.transit) - v.Jitter) / 16
	}
	v.transit = transit
}
