package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the path: the largest size is found exactly, in few steps, and in fewer
// where it is a common one or refusals name it.
func TestTheLadderFindsTheLargestSize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.OneOf(rapid.IntRange(68, 65535), rapid.SampledFrom(Common)).Draw(r, "limit")
		tells := rapid.Bool().Draw(r, "tells")
		l := Ladder{Passed: 68, Failed: 65536}
		steps := 0
		for {
			size, ok := l.Next()
			if !ok {
				break
			}
			if steps++; steps > 30 {
				r.Fatalf("no end in sight: %+v", l)
			}
			hint := 0
			if tells && size > limit {
				hint = limit
			}
			l.Note(size, size <= limit, hint)
		}
		if l.Passed != limit {
			r.Errorf("found %d, want %d", l.Passed, limit)
		}
		switch {
		case tells && limit < 9216 && steps > 14:
			r.Errorf("%d steps where refusals name the size", steps)
		case slices.Contains(Common, limit) && steps > 12:
			r.Errorf("%d steps to the common size %d", steps, limit)
		}
	})
}
