package host

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// BC-052: a counter of 32 bits that wrapped, or one that was reset, is left out.
func TestCountersThatFell(t *testing.T) {
	before := map[string]uint64{"rose": 10, "still": 7, "wrapped": math.MaxUint32 - 5, "reset": 1000, "gone": 1}
	after := map[string]uint64{"rose": 12, "still": 7, "wrapped": 3, "reset": 0, "new": 5}
	want := map[string]result.Counter{"rose": {Before: 10, After: 12}, "still": {Before: 7, After: 7}}
	if diff := cmp.Diff(want, pair(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
