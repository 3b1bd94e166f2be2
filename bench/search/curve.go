package search

import "time"

// Curve is the frame loss rate test of RFC 2544, section 26.3: loads in steps down
// from the highest until two in a row lose nothing.
type Curve struct {
	Max      uint64
	Percent  int // of Max, the size of a step: 10 at most
	Duration time.Duration
	Repeats  int // trials at each load, 1 at least
}

// Next is the next trial.
func (c *Curve) Next(history []Trial) (Step, bool) {
	repeats := max(c.Repeats, 1)
	n := len(history) / repeats // loads that are done
	if n >= 2 && clean(history[(n-2)*repeats:n*repeats]) && len(history)%repeats == 0 {
		return Step{}, false
	}
	percent := 100 - n*c.Percent
	if percent <= 0 {
		return Step{}, false
	}
	return Step{c.Max/100*uint64(percent) + c.Max%100*uint64(percent)/100, c.Duration}, true
}

func clean(trials []Trial) bool {
	for _, t := range trials {
		if t.Loss > 0 {
			return false
		}
	}
	return true
}
