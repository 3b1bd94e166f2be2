// Package stats says what repeated trials are good for: intervals of a median, a
// mean and a loss ratio, and whether two sets of trials differ. It is pure.
package stats

import (
	"math"
	"slices"
)

// Median is the middle of the values, or the mean of the two in the middle; it
// leaves them in their order. It is 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// MedianRanks are the ranks, from 1, of the order statistics of n values between
// which their median lies with at least the confidence, whatever their
// distribution, and how surely it does; ok is false where n is too small, below 6
// for 95 %.
func MedianRanks(n int, confidence float64) (low, high int, coverage float64, ok bool) {
	outside, chance := 0.0, math.Pow(0.5, float64(n)) // of exactly i values below the median
	for i := range (n + 1) / 2 {
		if 1-2*(outside+chance) < confidence {
			break
		}
		outside += chance
		chance *= float64(n-i) / float64(i+1)
		low, high, coverage, ok = i+1, n-i, 1-2*outside, true
	}
	return low, high, coverage, ok
}

// MedianCI is the interval of the median with at least the confidence; ok is false
// where there are too few values.
func MedianCI(values []float64, confidence float64) (interval [2]float64, ok bool) {
	low, high, _, ok := MedianRanks(len(values), confidence)
	if !ok {
		return interval, false
	}
	s := slices.Sorted(slices.Values(values))
	return [2]float64{s[low-1], s[high-1]}, true
}

// A MeanInterval is a mean with its interval by Student's t: for values that are
// nearly normal.
type MeanInterval struct {
	Mean, StdDev, HalfWidth float64
	CVPPM                   float64 // coefficient of variation in parts per million
}

// MeanOf is the interval of the mean of two values or more; t is the quantile for
// one degree of freedom less.
func MeanOf(values []float64, t float64) MeanInterval {
	n := float64(len(values))
	var m MeanInterval
	for _, v := range values {
		m.Mean += v / n
	}
	var squares float64
	for _, v := range values {
		squares += (v - m.Mean) * (v - m.Mean)
	}
	m.StdDev = math.Sqrt(squares / (n - 1))
	m.HalfWidth = t * m.StdDev / math.Sqrt(n)
	m.CVPPM = m.StdDev / m.Mean * 1e6
	return m
}

// Wilson is the 95 % interval of a loss ratio if losses do not depend on one
// another; of losses in bursts count the bursts.
func Wilson(lost, sent uint64) (low, high float64) {
	const z = 1.959963984540054
	n := float64(sent)
	p := float64(lost) / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(centre-half, 0), min(centre+half, 1)
}

// RuleOfThree is the one-sided 95 % bound of a loss ratio when nothing was lost.
func RuleOfThree(sent uint64) float64 { return 3 / float64(sent) }
