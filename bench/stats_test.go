package bench

import (
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMedianIntervalNeedsSixTrials(t *testing.T) {
	if _, ok := medianCI95([]float64{1, 2, 3, 4, 5}); ok {
		t.Error("five trials gave an interval")
	}
	if ci, ok := medianCI95([]float64{2, 2, 2, 2, 2, 2}); !ok || ci != [2]float64{2, 2} {
		t.Errorf("six equal trials gave %v, %v", ci, ok)
	}
}

// The interval holds the true median in about 95 of 100 experiments.
func TestMedianIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const experiments = 200
	for range experiments {
		values := make([]float64, 15)
		for i := range values {
			values[i] = random.NormFloat64()
		}
		if ci, _ := medianCI95(values); ci[0] <= 0 && 0 <= ci[1] {
			covered++
		}
	}
	if covered < experiments*88/100 {
		t.Errorf("covered in %d of %d experiments", covered, experiments)
	}
}
