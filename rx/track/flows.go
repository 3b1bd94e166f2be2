package track

import (
	"cmp"
	"slices"

	"linerate/internal/probe"
)

// A FlowTotal is what Totals are, of one flow.
type FlowTotal struct {
	Counts
	Number   uint16 // for formats without flow numbers, the order of appearance
	From     probe.Source
	Next     uint64 // one more than the greatest number that came
	JitterNS *int64
}

// FlowTotals are the counts of each flow so far, by number. It allocates.
func (t *Tracker) FlowTotals() []FlowTotal {
	totals := make([]FlowTotal, len(t.flows))
	for i, f := range t.flows {
		totals[i] = FlowTotal{f.counts(), f.number, f.from, f.next, f.jitterNS()}
	}
	slices.SortFunc(totals, func(a, b FlowTotal) int { return cmp.Compare(a.Number, b.Number) })
	return totals
}
