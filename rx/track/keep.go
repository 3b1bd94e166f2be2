package track

import (
	"math"
	"slices"

	"linerate/internal/probe"
)

// Keep leaves out of the account all flows but those numbered from 0 to flows-1:
// the others were a warm-up. It is for the native format, after the count and
// before Finish.
func (t *Tracker) Keep(flows int) {
	t.flows = slices.DeleteFunc(t.flows, func(f *flow) bool { return int(f.number) >= flows })
	first := int64(math.MaxInt64)
	for _, f := range t.flows {
		if f.Packets > 0 {
			first = min(first, f.first)
		}
	}
	if first < math.MaxInt64 {
		t.first = first
	}
	if t.end == nil {
		return
	}
	end := *t.end
	end.Counts = nil
	for _, run := range t.end.Counts {
		run.Flows = min(run.Flows, flows)
		if flows -= run.Flows; run.Flows > 0 {
			end.Counts = append(end.Counts, probe.FlowCount{Flows: run.Flows, Packets: run.Packets})
		}
	}
	t.end = &end
}
