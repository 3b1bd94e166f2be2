package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/result"
)

func TestHistogramText(t *testing.T) {
	var b strings.Builder
	histogram(&b, "delay", []result.Bucket{
		{From: 8_100, To: 8_191, N: 1}, {From: 12_000, To: 12_031, N: 30}, {From: 19_968, To: 19_999, N: 10}, {From: 150_000, To: 151_000, N: 9},
	})
	want := `delay           count  share
below 10.0 µs       1    2 %  #
below 20.0 µs      40   80 %  ########################################
below 50.0 µs       0    0 %
below 100.0 µs      0    0 %
below 200.0 µs      9   18 %  #########
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCoarseBucketsHoldAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []result.Bucket
		at := rapid.Int64Range(-1e6, 1e6).Draw(t, "least")
		var n uint64
		for range rapid.IntRange(1, 20).Draw(t, "buckets") {
			b := result.Bucket{From: at, To: at + rapid.Int64Range(0, 1e9).Draw(t, "width"), N: rapid.Uint64Range(1, 1e6).Draw(t, "n")}
			at = b.To + rapid.Int64Range(1, 1e9).Draw(t, "gap")
			n += b.N
			all = append(all, b)
		}
		rows := coarse(all)
		for i, r := range rows {
			n -= r.N
			if i > 0 && r.To <= rows[i-1].To {
				t.Fatalf("%+v behind %+v", r, rows[i-1])
			}
		}
		if n != 0 || rows[0].N == 0 || rows[len(rows)-1].N == 0 {
			t.Fatalf("%d left, %+v", n, rows)
		}
	})
}

func TestRoundNumbers(t *testing.T) {
	for v, want := range map[int64]int64{-7: 0, 0: 1, 1: 2, 2: 5, 5: 10, 99: 100, 100: 200, math.MaxInt64 - 1: math.MaxInt64} {
		if got := roundAbove(v); got != want {
			t.Errorf("above %d: %d, want %d", v, got, want)
		}
	}
}
