package stats

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// strict decodes JSON and refuses a key that nothing looks at.
func strict(t *testing.T, data []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
}

// same compares, to the last digit that the vectors print.
func same(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= max(tolerance*math.Abs(want), 5e-14)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestVectors checks the statistics against the shared vectors.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/stats.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema, File, About string
		Vectors             []struct {
			ID, Description, Standard, Kind string
			Input, Expect                   json.RawMessage
			Tolerance                       float64
		}
	}
	strict(t, data, &file)
	if len(file.Vectors) != 14 {
		t.Fatalf("%d vectors, want 14", len(file.Vectors))
	}
	kinds := map[string]func(t *testing.T, input, expect json.RawMessage, tolerance float64){
		"median_ci": medianVector, "mann_whitney": rankVector, "t_interval": meanVector, "loss_ci": lossVector,
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			check, ok := kinds[v.Kind]
			if !ok {
				t.Fatalf("no check of kind %s", v.Kind)
			}
			if v.Tolerance == 0 {
				v.Tolerance = 1e-9
			}
			check(t, v.Input, v.Expect, v.Tolerance)
		})
	}
}

func medianVector(t *testing.T, input, expect json.RawMessage, tolerance float64) {
	var in struct {
		N          int
		Confidence float64
	}
	var want struct {
		Lo, Hi   *int
		Coverage *float64
	}
	strict(t, input, &in)
	strict(t, expect, &want)
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
	same(t, "the coverage", coverage, *want.Coverage, tolerance)
	values := make([]float64, in.N)
	for i := range values {
		values[i] = float64(in.N - i)
	}
	if ci, ok := MedianCI(values, in.Confidence); !ok || ci != [2]float64{float64(low), float64(high)} {
		t.Errorf("interval %v, %v", ci, ok)
	}
}

func rankVector(t *testing.T, input, expect json.RawMessage, tolerance float64) {
	var in struct{ A, B []float64 }
	var want struct {
		UA          float64 `json:"u_a"`
		UB          float64 `json:"u_b"`
		P           float64 `json:"p_two_sided"`
		Significant bool    `json:"significant_at_0_05"`
		MedianA     float64 `json:"median_a"`
		MedianB     float64 `json:"median_b"`
	}
	strict(t, input, &in)
	strict(t, expect, &want)
	ua, ub, p := MannWhitney(in.A, in.B)
	if ua != want.UA || ub != want.UB || (p < 0.05) != want.Significant {
		t.Errorf("U %v and %v, p %v, want %+v", ua, ub, p, want)
	}
	same(t, "p", p, want.P, tolerance)
	same(t, "the median", Median(in.A), want.MedianA, tolerance)
	same(t, "the median", Median(in.B), want.MedianB, tolerance)
}

func meanVector(t *testing.T, input, expect json.RawMessage, tolerance float64) {
	var in struct {
		Values []float64
		T      float64 `json:"t_quantile"`
	}
	var want struct {
		Mean, StdDev float64
		HalfWidth    float64 `json:"half_width"`
		CV           float64 `json:"cv_ppm"`
	}
	strict(t, input, &in)
	strict(t, expect, &want)
	m := MeanOf(in.Values, in.T)
	same(t, "the mean", m.Mean, want.Mean, tolerance)
	same(t, "the deviation", m.StdDev, want.StdDev, tolerance)
	same(t, "half the width", m.HalfWidth, want.HalfWidth, tolerance)
	same(t, "the coefficient of variation", m.CVPPM, want.CV, tolerance)
}

func lossVector(t *testing.T, input, expect json.RawMessage, tolerance float64) {
	var in struct{ Lost, Sent uint64 }
	var want struct {
		Low, High   float64
		RuleOfThree *float64 `json:"rule_of_three"`
	}
	strict(t, input, &in)
	strict(t, expect, &want)
	low, high := Wilson(in.Lost, in.Sent)
	same(t, "the low end", low, want.Low, tolerance)
	same(t, "the high end", high, want.High, tolerance)
	if want.RuleOfThree != nil {
		same(t, "the rule of three", RuleOfThree(in.Sent), *want.RuleOfThree, tolerance)
	}
}
