package search

// Common sizes of IP packets in bytes that paths stop at: Ethernet with jumbo
// frames of several makes, FDDI over ATM, Ethernet, PPPoE, tunnels, and the least
// that IPv6 and IPv4 allow.
var Common = []int{9216, 9000, 8996, 8192, 4470, 4352, 2048, 1500, 1492, 1480, 1476, 1472, 1450, 1420, 1400, 1350, 1280, 576}

// Ladder finds the largest size that passes, between one that did and one that did
// not. It tries first what a refusal named, then common sizes and what is just above
// the one that passed, so that most paths take a few steps.
type Ladder struct {
	Passed int // the largest size that did
	Failed int // the smallest that did not
	Hint   int // size that a refusal named; 0 for none
}

// Next is the size to try next; ok is false when the largest is known.
func (l *Ladder) Next() (size int, ok bool) {
	inside := func(size int) bool { return size > l.Passed && size < l.Failed }
	if l.Failed-l.Passed <= 1 {
		return 0, false
	}
	if inside(l.Hint) {
		return l.Hint, true
	}
	if l.Passed == l.Hint {
		return l.Passed + 1, true
	}
	var left []int
	for _, c := range Common {
		if c == l.Passed {
			return l.Passed + 1, true // that is probably all
		}
		if inside(c) {
			left = append(left, c)
		}
	}
	if len(left) > 0 {
		return left[len(left)/2], true
	}
	return l.Passed + (l.Failed-l.Passed)/2, true
}

// Note takes what became of a size; hint is what a refusal named, or 0.
func (l *Ladder) Note(size int, passed bool, hint int) {
	if passed {
		l.Passed = max(l.Passed, size)
	} else {
		l.Failed = min(l.Failed, size)
	}
	if hint > 0 {
		l.Hint = hint
	}
}
