package stats

import (
	"math"
	"testing"

	"linerate/internal/vectors"
)

// same compares, to the last digit that the vectors print.
func same(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= max(tolerance*math.Abs(want), 5e-14)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestVectors checks the statistics against the shared vectors.
func TestVectors(t *testing.T) {
	vectors.Run(t, "stats", vectors.Checks{
		"median_ci":    medianVector,
		"mann_whitney": rankVector,
		"t_interval":   meanVector,
		"loss_ci":      lossVector,
	})
}

func medianVector(t *testing.T, v vectors.Vector) {
	var in struct {
		N          int
		Confidence float64
	}
	var want struct {
		Lo, Hi   *int
		Coverage *float64
	}
	v.Decode(t, &in, &want)
	low, high, coverage, ok := MedianRanks(in.N, in.Confidence)
	if ok != (want.Lo != nil) {
		t.Fatalf("an interval: %v", ok)
	}
	if !ok {
		return
	}
	if low != *want.Lo || high != *want.Hi {
		t.Errorf("[%d, %d], want [%d, %d]", low, high, *want.Lo, *want.Hi)
	}
	same(t, "the coverage", coverage, *want.Coverage, v.Tolerance)
	values := make([]float64, in.N)
	for i := range values {
		values[i] = float64(in.N - i)
	}
	if ci, ok := MedianCI(values, in.Confidence); !ok || ci != [2]float64{float64(low), float64(high)} {
		t.Errorf("interval %v, %v", ci, ok)
	}
}

func rankVector(t *testing.T, v vectors.Vector) {
	var in struct{ A, B []float64 }
	var want struct {
		UA          float64 `json:"u_a"`
		UB          float64 `json:"u_b"`
		P           float64 `json:"p_two_sided"`
		Significant bool    `json:"significant_at_0_05"`
		MedianA     float64 `json:"median_a"`
		MedianB     float64 `json:"median_b"`
	}
	v.Decode(t, &in, &want)
	ua, ub, p := MannWhitney(in.A, in.B)
	if ua != want.UA || ub != want.UB || (p < 0.05) != want.Significant {
		t.Errorf("U %v and %v, p %v, want %+v", ua, ub, p, want)
	}
	same(t, "p", p, want.P, v.Tolerance)
	same(t, "the median", Median(in.A), want.MedianA, v.Tolerance)
	same(t, "the median", Median(in.B), want.MedianB, v.Tolerance)
}

func meanVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Values []float64
		T      float64 `json:"t_quantile"`
	}
	var want struct {
		Mean, StdDev float64
		HalfWidth    float64 `json:"half_width"`
		CV           float64 `json:"cv_ppm"`
	}
	v.Decode(t, &in, &want)
	m := MeanOf(in.Values, in.T)
	same(t, "the mean", m.Mean, want.Mean, v.Tolerance)
	same(t, "the deviation", m.StdDev, want.StdDev, v.Tolerance)
	same(t, "half the width", m.HalfWidth, want.HalfWidth, v.Tolerance)
	same(t, "the coefficient of variation", m.CVPPM, want.CV, v.Tolerance)
}

func lossVector(t *testing.T, v vectors.Vector) {
	var in struct{ Lost, Sent uint64 }
	var want struct {
		Low, High   float64
		RuleOfThree *float64 `json:"rule_of_three"`
	}
	v.Decode(t, &in, &want)
	low, high := Wilson(in.Lost, in.Sent)
	same(t, "the low end", low, want.Low, v.Tolerance)
	same(t, "the high end", high, want.High, v.Tolerance)
	if want.RuleOfThree != nil {
		same(t, "the rule of three", RuleOfThree(in.Sent), *want.RuleOfThree, v.Tolerance)
	}
}
