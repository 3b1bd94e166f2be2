// Package model holds the arithmetic of methods that judge a path by a model of
// what it is to carry: UDP capacity, TCP, shapers and policers. It is pure.
package model

import "time"

// RateOf is the rate of a row of the table of sending rates in bit/s (RFC 9097,
// section 8.1): 0.5 Mbit/s, steps of 1 Mbit/s up to 1 Gbit/s, of 100 Mbit/s up to
// 10 Gbit/s, and of 1 Gbit/s beyond.
func RateOf(row int) float64 {
	const mega = 1e6
	switch {
	case row == 0:
		return 0.5 * mega
	case row <= 1000:
		return float64(row) * mega
	case row <= 1090:
		return (1000 + 100*float64(row-1000)) * mega
	}
	return (10_000 + 1000*float64(row-1090)) * mega
}

// A Load is the state of RFC 9097's search for the capacity of a path, by the load
// adjustment of type B (appendix A).
type Load struct {
	Row  int // of the table of sending rates
	Slow int // bad reports since the last fast step
}

// Thresholds are the parameters of the load adjustment.
type Thresholds struct {
	HighSpeedRow int // where fast steps end
	MaxRow       int
	SeqErrors    uint64        // a report with more is bad
	Low, High    time.Duration // of the range of delay: below good, above bad
	SlowAdjust   int           // bad reports that confirm congestion
	FastDelta    int           // rows of a fast step
}

// Adjust moves the load by a report of the receiver: the sequence errors and the
// range of delay of an interval.
func (l Load) Adjust(errors uint64, delay time.Duration, t Thresholds) Load {
	switch good, bad := errors <= t.SeqErrors && delay < t.Low, errors > t.SeqErrors || delay > t.High; {
	case good && l.Row < t.HighSpeedRow && l.Slow < t.SlowAdjust:
		l.Row, l.Slow = min(l.Row+t.FastDelta, t.HighSpeedRow), 0
	case good:
		l.Row = min(l.Row+1, t.MaxRow)
	case bad:
		l.Slow++
		if l.Slow == t.SlowAdjust && l.Row < t.HighSpeedRow {
			l.Row = max(l.Row-t.FastDelta*t.SlowAdjust, 0)
		} else {
			l.Row = max(l.Row-1, 0)
		}
	}
	return l
}

// LostStatus is how long after the last report the sender takes its absence for a
// bad one, when it has done so already so many times (RFC 9097, section 8.1).
func LostStatus(high, feedback time.Duration, times int) time.Duration {
	return high + time.Duration(2+times)*feedback
}

// A Sample is what came in one part of a capacity test.
type Sample struct {
	IPBits         float64
	Lost, Received uint64
}

// Eligible says whether no more was lost of a sample than a ratio.
func (s Sample) Eligible(ratio float64) bool {
	return float64(s.Lost) <= ratio*float64(s.Lost+s.Received)
}

// Capacity is the maximum IP-layer capacity in bit/s: the best of the samples that
// are eligible (RFC 9097, section 6.3).
func Capacity(samples []Sample, each time.Duration, ratio float64) float64 {
	best := 0.0
	for _, s := range samples {
		if s.Eligible(ratio) {
			best = max(best, s.IPBits/each.Seconds())
		}
	}
	return best
}
