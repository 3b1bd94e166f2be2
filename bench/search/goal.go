package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Goal is what a search by MLRsearch looks for: draft-ietf-bmwg-mlrsearch-15.
type Goal struct {
	FinalTrial  time.Duration // shorter trials count only against a load
	DurationSum time.Duration // of full trials, that decide a load
	Loss        float64       // the most that a good trial loses, 0..1
	Exceed      float64       // share of the time that may be of bad trials, 0..1
	Width       float64       // relative distance of the bounds at which the goal is reached
	// InitialTrial and Preceding make easier targets, which are reached first:
	// so many, the first with trials of that length.
	InitialTrial time.Duration
	Preceding    int
}

// A Class is what the trials of a load say of it.
type Class uint8

const (
	Undecided Class = iota
	Lower           // a lower bound: it meets the goal
	Upper           // an upper bound: it does not
)

// String names the class.
func (c Class) String() string { return [...]string{"undecided", "lower", "upper"}[c] }

// A verdict is a class with how much of the time was, or at most will be, of bad
// trials: if all time that is missing were good, and if it were bad.
type verdict struct {
	class                   Class
	optimistic, pessimistic float64
}

// Classify classes a load by its trials.
func (g *Goal) Classify(trials []Trial) Class { return g.classify(trials).class }

// classify follows the draft's appendix "Load Classification Code".
func (g *Goal) classify(trials []Trial) verdict {
	var fullGood, fullBad, shortGood, shortBad float64
	for _, t := range trials {
		good, s := t.Loss <= g.Loss, t.Duration.Seconds()
		switch full := t.Duration >= g.FinalTrial; {
		case full && good:
			fullGood += s
		case full:
			fullBad += s
		case good:
			shortGood += s
		default:
			shortBad += s
		}
	}
	// Short trials count only where they are bad beyond balance.
	excess := 0.0
	if g.Exceed < 1 {
		excess = max(0, shortBad-shortGood*g.Exceed/(1-g.Exceed))
	}
	bad := fullBad + excess
	whole := max(fullGood+bad, g.DurationSum.Seconds())
	v := verdict{optimistic: bad / whole, pessimistic: (whole - fullGood) / whole}
	switch optimistic, pessimistic := bad <= whole*g.Exceed, whole-fullGood <= whole*g.Exceed; {
	case optimistic && pessimistic:
		v.class = Lower
	case !optimistic && !pessimistic:
		v.class = Upper
	}
	return v
}

// Conditional is the conditional throughput of a load: what arrived in the best of
// its full trials that, with what is missing, fill the share of time that must be
// good; it is the load itself where those lost nothing.
func (g *Goal) Conditional(load uint64, trials []Trial) float64 {
	var full []Trial
	total := 0.0
	for _, t := range trials {
		if t.Duration >= g.FinalTrial {
			full, total = append(full, t), total+t.Duration.Seconds()
		}
	}
	slices.SortFunc(full, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
	left := max(total, g.DurationSum.Seconds()) * (1 - g.Exceed)
	quantile := 1.0
	for _, t := range full {
		quantile = t.Loss
		if left -= t.Duration.Seconds(); left <= 0 {
			break
		}
	}
	if left > 0 {
		quantile = 1 // what is missing counts as lost
	}
	return float64(load) * (1 - quantile)
}

// targets are the goal, last, and the easier ones before it: lengths and sums grow
// geometrically from the initial trial's, the width halves.
func (g *Goal) targets() []Goal {
	chain := make([]Goal, g.Preceding+1)
	initial := g.InitialTrial.Seconds()
	for i := range chain {
		chain[i] = *g
		if i == g.Preceding {
			break
		}
		share := float64(i) / float64(g.Preceding)
		chain[i].FinalTrial = seconds(initial * math.Pow(g.FinalTrial.Seconds()/initial, share))
		chain[i].DurationSum = seconds(initial * math.Pow(g.DurationSum.Seconds()/initial, share))
		chain[i].Width = 1 - math.Pow(1-g.Width, float64(uint64(1)<<(g.Preceding-i)))
	}
	return chain
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
