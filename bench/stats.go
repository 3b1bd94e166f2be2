package bench

import (
	"math/rand/v2"
	"slices"

	"linerate/bench/stats"
)

const (
	resamples     = 10_000
	bootstrapSeed = 2544 // fixed: the same trials give the same interval
)

// medianCI95 is the 95 % bootstrap interval of the median by the percentile
// method; ok is false below 6 values, where no such interval means anything.
func medianCI95(values []float64) (ci [2]float64, ok bool) {
	if len(values) < 6 {
		return ci, false
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, bootstrapSeed))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		medians[i] = stats.Median(sample)
	}
	slices.Sort(medians)
	return [2]float64{medians[resamples*25/1000], medians[resamples*975/1000-1]}, true
}
