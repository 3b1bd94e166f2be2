// Package cadence watches how evenly packets leave or arrive: the gaps between
// them, the longest run without a pause, and the rate in windows of time. Memory
// is constant, and to watch a packet allocates nothing.
package cadence

import "time"

// A Load is packets and the bytes of their UDP payloads.
type Load struct{ Packets, Bytes uint64 }

func (l *Load) add(o Load) {
	l.Packets += o.Packets
	l.Bytes += o.Bytes
}

// Lengths are those of the windows of which the rate is watched.
var Lengths = [...]time.Duration{100 * time.Millisecond, time.Second}

// A Watch watches the packets of one test. One goroutine owns it.
type Watch struct {
	gaps    gaps
	windows [len(Lengths)]window
	seen    uint64 // packets
	before  uint64 // those before the last time
	first   int64  // ns, as last
	last    int64
	run     uint64 // packets since the last pause
	longest uint64
}

// New returns a watch whose windows begin at a time in ns.
func New(start int64) *Watch {
	w := &Watch{gaps: newGaps()}
	for i := range w.windows {
		w.windows[i] = newWindow(start, Lengths[i])
	}
	return w
}

// Add takes packets that left or came at one time in ns: those behind the first
// have a gap of 0. A pause is a gap of at least half of nominal, which is the gap in
// ns that there ought to be between two packets.
func (w *Watch) Add(at int64, l Load, nominal int64) {
	if w.seen == 0 {
		w.first = at
	} else {
		at = max(at, w.last) // stamps of several CPUs may be out of order by a little
		gap := at - w.last
		w.gaps.add(gap, 1)
		if 2*gap >= nominal {
			w.run = 0
		}
	}
	w.gaps.add(0, l.Packets-1)
	w.run += l.Packets
	w.longest = max(w.longest, w.run)
	w.last = at
	w.before = w.seen
	w.seen += l.Packets
	for i := range w.windows {
		w.windows[i].add(at, l)
	}
}

// Mean is the mean gap so far in ns; 0 before the second packet.
func (w *Watch) Mean() int64 {
	if w.seen < 2 {
		return 0
	}
	return (w.last - w.first) / int64(w.seen-1)
}

// Span is when the first and the last packet left or came, in ns.
func (w *Watch) Span() (first, last int64) { return w.first, w.last }

// Seen is how many packets were watched, and how many of them before the last time:
// those took from the first time to the last.
func (w *Watch) Seen() (all, before uint64) { return w.seen, w.before }

// Result is what was watched until a time in ns at which the test was over.
// nominal is the gap in ns that there ought to be, for the share of the gaps close
// to it; 0 where there is no such gap.
func (w *Watch) Result(until int64, nominal float64) Result {
	r := Result{Gaps: w.gaps.result(nominal), LongestRun: w.longest}
	for i := range w.windows {
		r.Windows[i] = w.windows[i].result(until)
	}
	return r
}

// A Result is what a Watch saw.
type Result struct {
	Gaps       *Gaps  // nil without a second packet
	LongestRun uint64 // packets without a pause between
	Windows    [len(Lengths)]Window
}
