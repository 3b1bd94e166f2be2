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
