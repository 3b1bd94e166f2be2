package search

import "time"

// Binary is the customary search for the throughput of RFC 2544, section 26.1: the
// highest load first, then the middle of what is left, until that is narrow. The
// back-to-back test of section 26.4 searches alike, with the length of a burst for
// a load.
type Binary struct {
	Min, Max uint64
	// Resolution ends the search when no more is left between the highest load
	// that passed and the lowest that failed, and so does Width, in parts of the
	// latter.
	Resolution uint64
	Width      float64
	// Loss is the most that a trial may lose to pass, 0..1.
	Loss float64
	// Duration is the length of a trial that decides, Steer that of those before
	// it, if it is not 0: what they found is confirmed by one that decides, and
	// where that fails the search goes on below.
	Duration, Steer time.Duration
}

// bounds are what the trials so far have shown.
type bounds struct {
	low       uint64 // the highest load that passed, or Min
	high      uint64 // the lowest that failed; 0 for none
	passed    bool   // low did, in any trial
	confirmed bool   // low did in a trial that decides
}

func (b *Binary) bounds(history []Trial) bounds {
	x := bounds{low: b.Min}
	for i := range history {
		t := &history[i]
		decides := t.Duration >= b.Duration
		switch {
		case t.Loss > b.Loss:
			if x.high == 0 || t.Load < x.high {
				x.high = t.Load
			}
			if x.low >= x.high { // a trial that decides overrules a shorter one
				x = b.bounds(below(history[:i], x.high))
				x.high = t.Load
			}
		case x.high != 0 && t.Load >= x.high:
			// A load that failed once stays failed.
		case t.Load > x.low || !x.passed:
			x.low, x.passed, x.confirmed = t.Load, true, decides
		case t.Load == x.low:
			x.confirmed = x.confirmed || decides
		}
	}
	return x
}

// below are the trials of smaller loads.
func below(history []Trial, load uint64) []Trial {
	var kept []Trial
	for _, t := range history {
		if t.Load < load {
			kept = append(kept, t)
		}
	}
	return kept
}

// Next is the next trial.
func (b *Binary) Next(history []Trial) (Step, bool) {
	length := b.Steer
	if length == 0 {
		length = b.Duration
	}
	if len(history) == 0 {
		return Step{b.Max, length}, true
	}
	x := b.bounds(history)
	switch {
	case x.high != 0 && !b.narrow(x):
		return Step{x.low + (x.high-x.low)/2, length}, true
	case x.passed && !x.confirmed:
		return Step{x.low, b.Duration}, true
	}
	return Step{}, false
}

func (b *Binary) narrow(x bounds) bool {
	left := x.high - x.low
	return left <= max(b.Resolution, 1) || float64(left) <= b.Width*float64(x.high)
}

// Result is the highest load that passed a trial that decides; ok is false where
// none did.
func (b *Binary) Result(history []Trial) (load uint64, ok bool) {
	x := b.bounds(history)
	return x.low, x.passed && x.confirmed
}

// Failed is the lowest load that failed; 0 where none did.
func (b *Binary) Failed(history []Trial) uint64 { return b.bounds(history).high }
