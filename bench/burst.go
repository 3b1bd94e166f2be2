package bench

import (
	"context"
	"slices"
	"time"

	"linerate/bench/search"
	"linerate/bench/stats"
	"linerate/internal/result"
)

const (
	// longestBurst is how long a burst lasts at most (RFC 9004, section 5.4).
	longestBurst = 30 * time.Second
	// burstWidth is how near, in parts of it, the shortest burst that lost some
	// comes to the longest that did not.
	burstWidth = 0.01
	// expectedBursts is about how many bursts a search takes; each is half as long
	// as the one before it, as a rule.
	expectedBursts = 20
)

// burstLimit is the length of the first burst.
func (c *Search) burstLimit() time.Duration { return min(c.Trial, longestBurst) }

// burstsTake is how long one search for the longest burst takes.
func (c *Search) burstsTake() time.Duration {
	return 2*c.burstLimit() + expectedBursts*c.settle()
}

// backToBack searches for the longest burst at the highest load that loses nothing
// (RFC 2544, section 26.4), and works out what buffer it filled (RFC 9004). What
// was measured until an error stays in f.
func (c *Search) backToBack(ctx context.Context, o *offers, f *result.Found, most uint64) error {
	pps := float64(most) / loadsPerPacket
	r := &result.BackToBack{PPS: pps}
	var lengths []float64
	for range c.Repeats {
		b := &search.Binary{Max: max(uint64(pps*c.burstLimit().Seconds()), 1), Resolution: 1, Width: burstWidth}
		of := &offers{run: o.run, frame: o.frame, settle: o.settle, before: o.before, burst: rateOf(most)}
		err := of.strategy(ctx, b)
		r.Trials = append(r.Trials, of.trials...)
		if err != nil {
			return err
		}
		longest, _ := b.Result(of.history) // none, where even one frame was lost
		r.Bursts, lengths = append(r.Bursts, longest), append(lengths, float64(longest))
		r.Min, r.Max = slices.Min(r.Bursts), slices.Max(r.Bursts)
		mean := stats.MeanOf(lengths, 0)
		if r.Frames = mean.Mean; len(lengths) > 1 {
			r.StdDev = &mean.StdDev
		}
		buffer := search.BufferOf(r.Frames, pps, *f.PPS)
		r.ImpliedS, r.CorrectedS, r.BufferFrames = buffer.ImpliedS, buffer.CorrectedS, buffer.Frames
		f.BackToBack = r
	}
	return nil
}
