package echo

import (
	"testing"

	"pgregory.net/rapid"
)

// Against a set, for numbers that a window reaches back to.
func TestWindowKnowsCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		came := map[uint64]bool{}
		base := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "arrivals") {
			n := base + rapid.Uint64Range(0, 200).Draw(t, "n")
			if first := w.first(n); first != !came[n] {
				t.Fatalf("%d: first %v", n, first)
			}
			came[n] = true
			if rapid.IntRange(0, 20).Draw(t, "jump") == 0 {
				base += rapid.SampledFrom([]uint64{100, span - 200, span, 3 * span}).Draw(t, "by")
			}
		}
	})
}

func TestWindowForgets(t *testing.T) {
	var w window
	if !w.first(5) || !w.first(span+5) {
		t.Fatal("new numbers do not count as first")
	}
	if w.first(5) {
		t.Error("a number beyond the window counts as first")
	}
	if !w.first(6) || w.first(6) {
		t.Error("the oldest number of the window does not count once")
	}
}

func TestLimitLetsTheBudgetThrough(t *testing.T) {
	var l Limit
	const second, start = int64(1e9), int64(5e9)
	passed := func(from, to int64, offered int) (n int) {
		for i := range offered {
			if l.Allow(from + (to-from)*int64(i)/int64(offered)) {
				n++
			}
		}
		return n
	}
	if n := passed(start, start+1, 3*Budget); n != Budget {
		t.Errorf("%d of a burst pass, want %d", n, Budget)
	}
	if n := passed(start+1, start+second, 3*Budget); n < Budget-2 || n > Budget {
		t.Errorf("%d pass in the second after it, want %d", n, Budget)
	}
	if n := passed(start+10*second, start+11*second, Budget/2); n != Budget/2 {
		t.Errorf("%d of %d within the budget pass", n, Budget/2)
	}
}
