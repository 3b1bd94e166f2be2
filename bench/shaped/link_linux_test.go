package main

import (
	"context"
	"math"
	"testing"

	"linerate/internal/result"
)

// A link carries what it is shaped to, and both shapers are in its way.
func TestALinkCarriesItsShape(t *testing.T) {
	for _, shaper := range []string{"tbf", "htb"} {
		k, err := newLink(shaper, 10, 1518)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		got, err := k.carried(context.Background())
		if err != nil || math.Abs(got/k.shape-1) > 0.02 {
			t.Errorf("%s: %v of %v packets/s, %v", shaper, got, k.shape, err)
		}
	}
}

// A search that ended where its sender could send no more says nothing of the link.
func TestSenderThatIsOutrun(t *testing.T) {
	trial := func(pps float64, lost, shortfall uint64) result.Trial {
		return result.Trial{Lost: lost, Offered: &result.Offered{PPS: pps, Shortfall: shortfall}}
	}
	for _, tt := range []struct {
		name   string
		trials []result.Trial
		want   bool
	}{
		{"all well", []result.Trial{trial(900, 0, 0), trial(1100, 50, 0)}, false},
		{"a slow sender", []result.Trial{trial(1100, 50, 10), trial(950, 0, 7), trial(850, 0, 0)}, true},
		{"a slow sender and a loss", []result.Trial{trial(950, 0, 7), trial(920, 3, 0)}, false},
	} {
		row := &result.Row{Receiver: &result.Receiver{Rate: &result.Rate{PPS: 900}}, Trials: tt.trials}
		if got := outrun(row, 1000); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
