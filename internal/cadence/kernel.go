package cadence

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// A Kernel is what an eBPF program watched in place of a Watch: bpf/cadence.h.
type Kernel struct {
	Seen, Before    uint64
	First, Last     int64
	Run, LongestRun uint64
	LongestGap      int64
	WindowEnd       [len(Lengths)]int64
	WindowOpen      [len(Lengths)]Load
	Windows         [len(Lengths)]Window
	Gaps            []int64 // by bucket of a histogram from 1 to 2^36-1 of three digits
}

// Restore makes a Watch of it, which goes on from there.
func Restore(k *Kernel) *Watch {
	w := &Watch{
		gaps: gaps{histogram: hdr.Import(&hdr.Snapshot{
			LowestTrackableValue:  1,
			HighestTrackableValue: reach - 1,
			SignificantFigures:    digits,
			Counts:                k.Gaps,
		}), longest: k.LongestGap},
		seen: k.Seen, before: k.Before, first: k.First, last: k.Last, run: k.Run, longest: k.LongestRun,
	}
	for i := range w.windows {
		w.windows[i] = window{length: int64(Lengths[i]), end: k.WindowEnd[i], open: k.WindowOpen[i], ended: k.Windows[i]}
	}
	return w
}
