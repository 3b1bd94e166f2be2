package track

import "sort"

// jumps are a flow's sequence discontinuities (RFC 4737, section 3.4) that may
// still be in its window, in ascending order. Each leaves a number out, so at
// most half a window of them matter.
type jumps []jump

// A jump is the packet that came before some lower numbers.
type jump struct {
	seq      uint64
	position uint64 // which first copy of the flow it was, from 1
}

// add notes a jump to a number above all others. next is the flow's number
// expected before it.
func (j *jumps) add(seq, position, next uint64) {
	if len(*j) == cap(*j) {
		j.forget(next)
	}
	*j = append(*j, jump{seq, position})
}

// forget makes room by dropping the jumps over numbers that all have left the
// window. It keeps at least half of the memory free of the others, so that the
// cost of a jump stays constant on average.
func (j *jumps) forget(next uint64) {
	live := (*j)[j.above(max(next, Window)-Window):]
	if len(live) <= cap(*j)/2 {
		*j = (*j)[:copy(*j, live)]
		return
	}
	*j = append(make(jumps, 0, 2*cap(*j)), live...)
}

// above is the index of the first jump beyond a number.
func (j jumps) above(seq uint64) int {
	return sort.Search(len(j), func(i int) bool { return j[i].seq > seq })
}

// over is the position of the packet that jumped over a missing number: the
// earliest first copy with a greater one.
func (j jumps) over(seq uint64) uint64 { return j[j.above(seq)].position }
