package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Lengths of the windows in which packets are counted.
const (
	short = 100 * time.Millisecond
	long  = time.Second
)

// What may be taken from a sender before a window counts as taken away: as much as could
// put a short one off by what it may be. On a slow core, a path at 80 % of its most is up
// to 20 % slower than it is asked to be.
const (
	littleWaited = 1. / 1000 // of the time
	littleSlowed = 1. / 50   // of the trials
	slowed       = 1.15      // of the usual time makes a trial a slow one
	mayBeOff     = 0.005     // of a short window
)

// A window is how many packets came in a part of a run, and how many ought to have.
type window struct {
	came, want float64
	alone      bool // nothing was taken from the sender in it, and nothing was left to be repaid
}

// off is how far a window's rate was from what it ought to be, in packets.
func (w window) off() float64 { return math.Abs(w.came - w.want) }

// windows are the whole ones of a length that is a multiple of the short one.
func (a arrivals) windows(length time.Duration, nominal float64) (all []window) {
	if len(a.at) == 0 {
		return nil
	}
	usual, start := a.usualTrial(), a.earliestStart(nominal)
	steps := int(length / short)
	for i := steps; i < len(a.taken); i += steps {
		from, to := a.begun+int64(i-steps)*int64(short), a.begun+int64(i)*int64(short)
		first, _ := slices.BinarySearch(a.at, from)
		end, _ := slices.BinarySearch(a.at, to)
		w := window{came: float64((end - first) * a.every), want: float64(length) / nominal}
		behind := (float64(from)-start)/nominal - float64(first*a.every)
		taken := a.taken[i].since(a.taken[i-steps])
		w.alone = math.Floor(behind) <= mayBeOff*float64(short)/nominal && taken.stolen == 0 &&
			float64(taken.waited) < littleWaited*float64(length) &&
			a.slow(from, to, usual) <= littleSlowed
		all = append(all, w)
	}
	return all
}

// earliestStart is when the first packet ought to have come for none to come early, in ns.
func (a arrivals) earliestStart(nominal float64) float64 {
	start := math.Inf(1)
	for k, at := range a.at {
		start = min(start, float64(at)-float64(k*a.every)*nominal)
	}
	return start
}

// usualTrial is what most trials of the core take at least.
func (a arrivals) usualTrial() time.Duration {
	if len(a.trials) == 0 {
		return 0
	}
	var took []time.Duration
	for _, t := range a.trials {
		took = append(took, t.Took)
	}
	slices.Sort(took)
	return took[len(took)/10]
}

// slow is the part of the trials from a time to another that took longer than usual.
func (a arrivals) slow(from, to int64, usual time.Duration) float64 {
	n, slow := 0, 0
	for _, t := range a.trials {
		if t.At < from || t.At >= to {
			continue
		}
		n++
		if float64(t.Took) > slowed*float64(usual) {
			slow++
		}
	}
	return float64(slow) / float64(max(n, 1))
}

// worst prints the window that was furthest off.
func worst(all []window) string {
	if len(all) == 0 {
		return "-"
	}
	w := slices.MaxFunc(all, func(a, b window) int { return cmp.Compare(a.off(), b.off()) })
	return fmt.Sprintf("%.3f %% (%.0f packets)", 100*w.off()/w.want, w.off())
}

// worstAlone prints the same of those windows in which the sender was left alone, and how
// many those were.
func worstAlone(all []window) string {
	alone := slices.DeleteFunc(slices.Clone(all), func(w window) bool { return !w.alone })
	return fmt.Sprintf("%s in %d of %d", worst(alone), len(alone), len(all))
}
