// Package search holds the strategies by which rates are searched for: given the
// trials so far, which is next. It is pure: it sends nothing and reads no clock.
//
// A load is a whole number in a unit of the caller's, as packets in 1000 s.
package search

import "time"

// A Step is a trial to run.
type Step struct {
	Load     uint64
	Duration time.Duration
}

// A Trial is what a step came to.
type Trial struct {
	Step
	// Loss is the share of the frames that were intended and did not arrive,
	// 0..1. A frame that was not sent did not arrive (RFC 2285, section 3.5).
	Loss float64
}

// Forwarded is the load that arrived.
func (t *Trial) Forwarded() float64 { return float64(t.Load) * (1 - t.Loss) }

// A Strategy says from the trials so far which is next; ok is false when no more
// are needed. The same trials always give the same step.
type Strategy interface {
	Next(history []Trial) (step Step, ok bool)
}

// Run runs the trials of a strategy until it needs no more or one fails, and
// returns those that ran.
func Run(s Strategy, trial func(Step) (Trial, error)) ([]Trial, error) {
	var history []Trial
	for {
		step, ok := s.Next(history)
		if !ok {
			return history, nil
		}
		t, err := trial(step)
		if err != nil {
			return history, err
		}
		history = append(history, t)
	}
}
