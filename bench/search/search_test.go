package search

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// csit are the goals of FD.io CSIT: no drops, and a partial drop rate of 0.5 %.
func csit() []Goal {
	ndr := Goal{
		FinalTrial: time.Second, DurationSum: 21 * time.Second, Exceed: 0.5, Width: 0.005, InitialTrial: time.Second, Preceding: 2,
	}
	pdr := ndr
	pdr.Loss = 0.005
	return []Goal{ndr, pdr}
}

// bounded runs a search that must end by itself.
func bounded(r interface{ Fatalf(string, ...any) }, s Strategy, trial func(Step) (Trial, error), most int) []Trial {
	n := 0
	history, err := Run(s, func(step Step) (Trial, error) {
		if n++; n > most {
			return Trial{}, errors.New("more trials than any search needs")
		}
		return trial(step)
	})
	if err != nil {
		r.Fatalf("after %d trials: %v, the last at %v", len(history), err, history[max(0, len(history)-5):])
	}
	return history
}

// On a link that carries so much and no more, both searches find it to the width,
// and never report a load that lost more than was allowed.
func TestSearchesFindTheCapacity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.Uint64Range(1000, 1e11).Draw(r, "max")
		capacity := float64(rapid.Uint64Range(1000, 2e11).Draw(r, "capacity"))
		link := device(capacity)
		m := &MLR{Min: 1000, Max: max(most, 1001), Goals: csit()}
		results := m.Results(bounded(r, m, link, 500))
		for i, b := range results {
			allowed := capacity / (1 - m.Goals[i].Loss) // what a link may be offered and lose no more
			if b.Irregular != (float64(m.Min) > allowed) {
				r.Fatalf("irregular %v at a capacity of %v", b.Irregular, capacity)
			}
			if b.Irregular {
				continue
			}
			if float64(b.Lower) > allowed*(1+1e-12) {
				r.Errorf("goal %d: reported %d of %v", i, b.Lower, allowed)
			}
			if want := min(allowed, float64(m.Max)); float64(b.Lower) < want*(1-m.Goals[i].Width)-1 {
				r.Errorf("goal %d: reported %d of %v", i, b.Lower, want)
			}
			if b.Conditional > capacity*(1+1e-9) {
				r.Errorf("goal %d: a conditional throughput of %v of %v", i, b.Conditional, capacity)
			}
		}
		loss := rapid.SampledFrom([]float64{0, 0.001, 0.1}).Draw(r, "loss")
		b := &Binary{Max: most, Width: 0.001, Loss: loss, Duration: time.Minute, Steer: time.Second}
		history := bounded(r, b, link, 200)
		got, ok := b.Result(history)
		allowed := capacity / (1 - loss)
		if want := min(allowed, float64(most)); ok && (float64(got) > want*(1+1e-12) || float64(got) < want*0.998-2) {
			r.Errorf("binary: %d of %v", got, want)
		}
		if decides := slices.ContainsFunc(history, func(t Trial) bool { return t.Load == got && t.Duration == time.Minute }); ok && !decides {
			r.Errorf("%d was never tried at full length", got)
		}
	})
}

// On any link, however it behaves, a search ends, and what it reports did pass: by
// the goal's own rule, in full trials.
func TestNoSearchReportsWhatItSawFail(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		flaky := rapid.Float64Range(0, 1).Draw(r, "flaky")
		capacity := float64(rapid.Uint64Range(1, 1e6).Draw(r, "capacity"))
		random := rand.New(rand.NewPCG(seed, seed))
		link := func(s Step) (Trial, error) {
			loss := max(0, 1-capacity/float64(s.Load))
			if random.Float64() < flaky {
				loss = max(loss, random.Float64()*0.01)
			}
			return Trial{s, loss}, nil
		}
		m := &MLR{Min: 10, Max: 1e6, Goals: csit()}
		history := bounded(r, m, link, 5000)
		for i, b := range m.Results(history) {
			if b.Lower == 0 {
				continue
			}
			good, bad := 0.0, 0.0
			for _, trial := range byLoad(history)[b.Lower] {
				if trial.Loss <= m.Goals[i].Loss {
					good += trial.Duration.Seconds()
				} else {
					bad += trial.Duration.Seconds()
				}
			}
			if good < 10.5 || bad > good {
				r.Errorf("goal %d: %d with %v s good and %v s bad", i, b.Lower, good, bad)
			}
		}
		b := &Binary{Max: 1e6, Resolution: 1, Width: 0.001, Duration: 10 * time.Second, Steer: time.Second}
		history = bounded(r, b, link, 500)
		if got, ok := b.Result(history); ok {
			for _, trial := range history {
				if trial.Load <= got && trial.Loss > 0 && trial.Load == got {
					r.Errorf("%d lost %v", got, trial.Loss)
				}
			}
		}
	})
}

func TestCurveRepeatsAndEnds(t *testing.T) {
	c := &Curve{Max: 1000, Percent: 10, Repeats: 3}
	history, _ := Run(c, device(750))
	if len(history) != 15 || history[14].Load != 600 || history[3].Load != 900 {
		t.Errorf("%d trials: %v", len(history), history)
	}
	history, _ = Run(c, device(0))
	if len(history) != 30 || history[29].Load != 100 {
		t.Errorf("%d trials: %v", len(history), history)
	}
}
