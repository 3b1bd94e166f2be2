package bench

import (
	"math/rand/v2"
	"testing"
)

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
