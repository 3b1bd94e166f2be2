package pace

import (
	"math"
	"math/bits"
	"time"
)

// A Timeline says when each frame of a list is due that is sent once or over and
// over: frame k at Mark(k) x Num / Den nanoseconds, in exact integer arithmetic.
type Timeline struct {
	// Marks has where each frame of the list stands in it, from 0 and ascending:
	// in ns of the capture it comes from, or in what the frames before it take of
	// a rate.
	Marks []uint64
	// Cycle is where the list begins again.
	Cycle uint64
	// Num and Den turn a mark into ns; with a Den of 0 all is due at once.
	Num, Den uint64
}

// RateTimeline is the timeline of frames sent at a rate in millionths of a cost
// unit per second, 0 for as fast as possible. costs has what each frame takes of it.
func RateTimeline(costs []uint64, microRate uint64) Timeline {
	t := Timeline{Marks: make([]uint64, len(costs)), Num: uint64(time.Second) * microsPerUnit, Den: microRate}
	for i, c := range costs {
		t.Marks[i] = t.Cycle
		t.Cycle += c
	}
	return t
}

// Mark is where frame k stands, over all rounds.
func (t *Timeline) Mark(k uint64) uint64 {
	n := uint64(len(t.Marks))
	return k/n*t.Cycle + t.Marks[k%n]
}

// Due is when frame k is due after the start, rounded down to a nanosecond.
func (t *Timeline) Due(k uint64) time.Duration {
	if t.Den == 0 {
		return 0
	}
	hi, lo := bits.Mul64(t.Mark(k), t.Num)
	if hi >= t.Den {
		return math.MaxInt64
	}
	ns, _ := bits.Div64(hi, lo, t.Den)
	return time.Duration(min(ns, math.MaxInt64))
}
