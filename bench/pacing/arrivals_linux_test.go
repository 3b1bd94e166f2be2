package main

import (
	"math"
	"testing"
)

// regular is packets with a gap, of which each late-th comes 300 µs late.
func regular(n int, gap float64, late, every int) arrivals {
	a := arrivals{every: every}
	for k := 0; k < n; k += every {
		at := 1e9 + int64(float64(k)*gap)
		if late > 0 && k%late == 0 {
			at += 300_000
		}
		a.at = append(a.at, at)
	}
	return a
}

func TestSlopeError(t *testing.T) {
	for _, every := range []int{1, 10} {
		// 20 ppm slow, with late packets first and last.
		got := regular(100_001, 100_002, 1000, every).slopeError(100_000)
		if math.Abs(got+20) > 0.01 {
			t.Errorf("%g ppm, want -20", got)
		}
	}
	if got := regular(3, 1, 0, 1).slopeError(1); !math.IsNaN(got) {
		t.Errorf("of three packets: %g", got)
	}
}

func TestGaps(t *testing.T) {
	got := regular(1001, 1_000_000, 10, 1).gaps(1_000_000)
	want := spread{p50: 1_000_000, p99: 1_300_000, p999: 1_300_000, most: 1_300_000, near: 0.8, run: 1}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	burst := arrivals{every: 1, at: []int64{0, 1, 2, 400, 401, 402, 403, 800}}
	if got := burst.gaps(100); got.run != 4 || got.deviation != 99 {
		t.Errorf("%+v, want 4 in a row", got)
	}
}
