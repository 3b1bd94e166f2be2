package pace

import (
	"testing"
	"time"
)

func TestWaiterLearns(t *testing.T) {
	const us = int64(time.Microsecond)
	w := Waiter{margin: 20 * us}
	for _, step := range []struct {
		what      string
		now, late int64
		slept     bool
		margin    int64
	}{
		{"a look at the clock", 0, 100 * us, false, 20 * us},
		{"a sleep that the margin covers", 1, 10 * us, true, 20 * us},
		{"a longer one", 2, 40 * us, true, 60 * us},
		{"the processor is taken once", 2 * sharing, 2000 * us, true, 60 * us},
		{"and again, but much later", 3 * sharing, 2000 * us, true, 60 * us},
		{"and again, soon", 3*sharing + 1, 2000 * us, true, leastMargin},
		{"a sleep soon after", 3*sharing + 2, 40 * us, true, leastMargin},
		{"and later", 4*sharing + 2, 40 * us, true, 60 * us},
		{"taken from one that spins", 4*sharing + 3, 2000 * us, false, 60 * us},
		{"and again, soon", 4*sharing + 4, 2000 * us, false, leastMargin},
	} {
		if w.learn(step.now, step.late, step.slept); w.margin != step.margin {
			t.Errorf("%s: a margin of %d ns, want %d", step.what, w.margin, step.margin)
		}
	}
}
