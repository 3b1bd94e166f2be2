package echo

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest bounds the histogram: what took longer counts as that long, but for the
// extremes. Three digits and a minute make 200 KiB.
const longest = int64(time.Minute)

// Times is the distribution of times in ns. The extremes are exact, the rest to
// three significant digits.
type Times struct {
	histogram *hdrhistogram.Histogram
	min, max  int64
}

// NewTimes has none.
func NewTimes() *Times {
	return &Times{histogram: hdrhistogram.New(1, longest, 3), min: math.MaxInt64}
}

// Record adds one of at least 0. It allocates nothing.
func (t *Times) Record(ns int64) {
	t.min, t.max = min(t.min, ns), max(t.max, ns)
	_ = t.histogram.RecordValue(min(ns, longest)) // in range by the bound
}

// N is how many there are.
func (t *Times) N() uint64 { return uint64(t.histogram.TotalCount()) }

// Min is the least, and Max the greatest; of none they mean nothing.
func (t *Times) Min() int64 { return t.min }

// Max is the greatest.
func (t *Times) Max() int64 { return t.max }

// At is the smallest value that at least so many ppm of all do not exceed (RFC 2330,
// section 11.3).
func (t *Times) At(ppm uint64) int64 {
	const million = 1_000_000
	n := t.N()
	rank := n/million*ppm + (n%million*ppm+million-1)/million
	// The library rounds the fraction that it takes back to the rank.
	v := t.histogram.ValueAtPercentile(100 * float64(rank) / float64(n))
	return min(max(v, t.min), t.max)
}

// A Bucket is how many times lie from From to To ns, both included.
type Bucket struct {
	From, To int64
	N        uint64
}

// Histogram is all times, in ascending order, without empty buckets.
func (t *Times) Histogram() []Bucket {
	var all []Bucket
	for _, bar := range t.histogram.Distribution() {
		if bar.Count > 0 {
			all = append(all, Bucket{bar.From, bar.To, uint64(bar.Count)})
		}
	}
	if len(all) > 0 {
		all[0].From, all[len(all)-1].To = t.min, t.max
	}
	return all
}
