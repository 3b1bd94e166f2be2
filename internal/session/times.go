package session

import (
	"linerate/internal/echo"
	"linerate/internal/result"
	"linerate/rx/track"
)

// buckets are those of a histogram as the report has them.
func buckets[B track.Bucket | echo.Bucket](all []B) []result.Bucket {
	var r []result.Bucket
	for _, b := range all {
		r = append(r, result.Bucket(b))
	}
	return r
}

// times are a distribution as the report has it; nil if there are none.
func times(t *echo.Times, histogram bool) *result.Times {
	if t.N() == 0 {
		return nil
	}
	r := &result.Times{Min: t.Min(), P50: t.At(500_000), P99: t.At(990_000), P999: t.At(999_000), Max: t.Max()}
	if histogram {
		r.Histogram = buckets(t.Histogram())
	}
	return r
}
