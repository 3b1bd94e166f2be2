package main

import (
	"testing"
	"time"

	"linerate/bpf"
)

// held is a second of packets each ms, of which the five before 200 ms come after it.
func held() arrivals {
	a := regular(1000, 1e6, 0, 1)
	a.begun = a.at[0]
	for k := 195; k < 200; k++ {
		a.at[k] = a.begun + 200_000_000 + int64(k)
	}
	a.at[200] += 1000 // still in order
	a.taken = make([]away, 11)
	for i := range 1000 {
		a.trials = append(a.trials, bpf.Trial{At: a.begun + int64(i)*1e6, Took: 270})
	}
	return a
}

// A window counts as taken away for each thing that may be taken, and the one in which
// it is made up for with it.
func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		what  string
		take  func(arrivals)
		alone string
	}{
		{"nothing", func(arrivals) {}, "5.000 % (5 packets) in 9 of 10"},
		{"the processor", func(a arrivals) {
			for i := 2; i <= 10; i++ {
				a.taken[i].waited = 5 * time.Millisecond
			}
		}, "0.000 % (0 packets) in 8 of 10"},
		{"time of other machines", func(a arrivals) {
			for i := 2; i <= 10; i++ {
				a.taken[i].stolen = 10 * time.Millisecond
			}
		}, "0.000 % (0 packets) in 8 of 10"},
		{"speed", func(a arrivals) {
			for i := 150; i < 160; i++ {
				a.trials[i].Took = 400
			}
		}, "0.000 % (0 packets) in 8 of 10"},
	} {
		a := held()
		tt.take(a)
		all := a.windows(short, 1e6)
		if got := worst(all); got != "5.000 % (5 packets)" {
			t.Errorf("%s taken: worst %s", tt.what, got)
		}
		if got := worstAlone(all); got != tt.alone {
			t.Errorf("%s taken: of those left alone %s, want %s", tt.what, got, tt.alone)
		}
	}
	if got := worst(held().windows(long, 1e6)); got != "0.000 % (0 packets)" {
		t.Errorf("a second in which it is made up for: %s", got)
	}
	if got := worstAlone(nil); got != "- in 0 of 0" {
		t.Errorf("no window: %s", got)
	}
}
