package echo

// span is how many numbers a window tells apart: at the highest rate of probes, of
// several seconds.
const span = 1 << 16

// A window remembers which of the latest numbers came.
type window struct {
	next uint64 // above all that came
	seen [span / 64]uint64
}

// first reports whether a number comes for the first time. One that is too old to
// tell does not.
func (w *window) first(n uint64) bool {
	if n+span < w.next {
		return false
	}
	if n >= w.next+span {
		clear(w.seen[:])
		w.next = n
	}
	for ; w.next <= n; w.next++ {
		w.seen[w.next%span/64] &^= 1 << (w.next % 64)
	}
	word, bit := &w.seen[n%span/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
