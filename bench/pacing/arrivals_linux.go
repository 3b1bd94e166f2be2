package main

import (
	"math"
	"slices"
	"time"

	"linerate/bpf"
)

// arrivals are when packets came, in ns, each every-th of all that came; and what was
// taken from their sender meanwhile.
type arrivals struct {
	at     []int64
	every  int
	begun  int64       // when the first window begins, in ns
	taken  []away      // up to that, and up to the end of each short window
	trials []bpf.Trial // of the core on which packets come, which is the sender's
}

// away is what was taken from the sender in all.
func (a arrivals) away() away { return a.taken[len(a.taken)-1].since(a.taken[0]) }

// slopeError is how far the long-run rate was from one packet each nominal ns, in
// ppm: the slope of the earliest arrivals, each against its own place in the
// schedule, between the first second and the last, or the first quarter and the last
// of a shorter run. So a late packet is no error of the rate.
func (a arrivals) slopeError(nominal float64) float64 {
	n := len(a.at)
	if n < 8 {
		return math.NaN()
	}
	span := a.at[n-1] - a.at[0]
	edge := min(int64(time.Second), span/4)
	earliest := func(from, to int) (late float64) {
		late = math.Inf(1)
		for k := from; k < to; k++ {
			late = min(late, float64(a.at[k]-a.at[0])-float64(k*a.every)*nominal)
		}
		return late
	}
	begin, _ := slices.BinarySearch(a.at, a.at[0]+edge)
	end, _ := slices.BinarySearch(a.at, a.at[n-1]-edge)
	slope := (earliest(end, n) - earliest(0, begin)) / float64(span-edge)
	return (1/(1+slope) - 1) * 1e6
}

// A spread is of the gaps of packets, in ns.
type spread struct {
	p50, p99, p999, most int64
	deviation            float64 // median distance from the nominal gap
	near                 float64 // share within a tenth of it
	run                  int     // most packets less than half of it apart
}

// gaps are those of all packets, of which each was kept.
func (a arrivals) gaps(nominal float64) (s spread) {
	var all []int64
	var off []float64
	near, run := 0, 1
	for k := 1; k < len(a.at); k++ {
		gap := max(0, a.at[k]-a.at[k-1])
		d := math.Abs(float64(gap) - nominal)
		all, off = append(all, gap), append(off, d)
		if d <= nominal/10 {
			near++
		}
		if run++; float64(gap) >= nominal/2 {
			run = 1
		}
		s.run = max(s.run, run)
	}
	if len(all) == 0 {
		return s
	}
	slices.Sort(all)
	slices.Sort(off)
	at := func(permille int) int64 { return all[(len(all)*permille+999)/1000-1] }
	s.p50, s.p99, s.p999, s.most = at(500), at(990), at(999), all[len(all)-1]
	s.deviation, s.near = off[len(off)/2], float64(near)/float64(len(all))
	return s
}
