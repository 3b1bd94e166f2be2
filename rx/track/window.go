package track

import "math/bits"

// Window is how many packets back a number can still be told from a duplicate:
// one size for this tracker and the eBPF one.
const Window = 8192

// A window remembers which of a flow's last Window numbers arrived. Only a
// number that has left the window, or the end of the test, makes a loss final:
// until then a late packet may still fill the hole.
type window struct {
	next   uint64              // the highest number that arrived, and one: NextExp of RFC 4737
	seen   [Window / 64]uint64 // number s is bit s modulo Window
	run    uint64              // length of the loss period that the final numbers end in
	bursts Bursts              // the loss periods before it
}

// reset opens the window before number 0, as if all before it had arrived.
func (w *window) reset() {
	for i := range w.seen {
		w.seen[i] = ^uint64(0)
	}
}

func (w *window) slot(seq uint64) (word *uint64, bit uint64) {
	return &w.seen[seq/64%uint64(len(w.seen))], 1 << (seq % 64)
}

// behind reports whether a number below next has left the window.
func (w *window) behind(seq uint64) bool { return w.next-seq > Window }

// has reports whether a number inside the window arrived.
func (w *window) has(seq uint64) bool {
	word, bit := w.slot(seq)
	return *word&bit != 0
}

// fill notes the arrival of a number inside the window.
func (w *window) fill(seq uint64) {
	word, bit := w.slot(seq)
	*word |= bit
}

// advance moves the window on to a number of at least next that arrived. It
// takes time in proportion to the window at most, however far the jump.
func (w *window) advance(seq uint64) {
	if word, bit := w.slot(seq); seq == w.next && w.run == 0 && *word&bit != 0 {
		w.next++ // in order, and what leaves had arrived: its bit serves on
		return
	}
	if ahead := seq - w.next; ahead >= Window {
		w.retire(w.next, w.next+Window)
		w.run += ahead - Window + 1 // never were in the window
	} else {
		w.retire(w.next, seq+1)
	}
	w.fill(seq)
	w.next = seq + 1
}

// retire makes the numbers from-Window up to to-Window final and leaves their
// slots to from up to to, as not arrived.
func (w *window) retire(from, to uint64) {
	for from < to {
		word, _ := w.slot(from)
		shift := from % 64
		n := min(64-shift, to-from)
		w.settle(*word>>shift, int(n))
		*word &^= ^uint64(0) >> (64 - n) << shift
		from += n
	}
}

// settle takes the next n numbers as final, in order from the lowest bit: 1 for
// one that arrived.
func (w *window) settle(arrived uint64, n int) {
	for n > 0 {
		lost := min(bits.TrailingZeros64(arrived), n)
		w.run += uint64(lost)
		arrived >>= lost
		if n -= lost; n == 0 {
			return
		}
		w.closePeriod()
		here := min(bits.TrailingZeros64(^arrived), n)
		arrived >>= here
		n -= here
	}
}

func (w *window) closePeriod() {
	if w.run > 0 {
		w.bursts.add(w.run)
		w.run = 0
	}
}

// finish makes all numbers below sent final. A sent below next leaves out the
// numbers from there on; it lies inside the window.
func (w *window) finish(sent uint64) {
	w.retire(w.next, min(w.next, sent)+Window)
	if sent > w.next {
		w.run += sent - w.next
	}
	w.closePeriod()
}
