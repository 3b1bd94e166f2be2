package bench

import (
	"context"
	"time"

	"linerate/bench/stats"
	"linerate/internal/result"
)

// latencyTakes is how long one run of latency takes.
func (c *Search) latencyTakes() time.Duration { return c.Trial + c.settle() }

// latency measures delay at the load that was found (RFC 2544, section 26.2): of
// every packet, where the RFC tags one of a run. Runs are as long as the trials that
// decide. What was measured until an error stays in f.
func (c *Search) latency(ctx context.Context, o *offers, f *result.Found, load uint64) error {
	offer := Offer{
		Frame: o.frame, Rate: rateOf(load), Duration: o.lengthOf(load, c.Trial),
		Trips: o.reports[0].Config.Peer == "linerate",
	}
	l := &result.Latency{DurationS: offer.seconds()}
	for range c.Repeats {
		rep, err := o.once(ctx, offer)
		if err != nil {
			return err
		}
		run := result.LatencyRun{Lost: rep.Receiver.Lost}
		if a := rep.Receiver.Arrivals; a != nil {
			run.DelayNS = a.DelayNS
		}
		if rep.RTTNS != nil {
			run.RTTNS = rep.RTTNS.Times
		}
		l.Runs = append(l.Runs, run)
		l.DelayNS, l.RTTNS = sumDelays(l.Runs), sumTrips(l.Runs)
		f.Latency = l
	}
	return nil
}

// sumDelays sums up the one-way delays of runs; nil where one has none, or another
// clock.
func sumDelays(runs []result.LatencyRun) *result.LatencyTimes {
	var s latencies
	for _, r := range runs {
		d := r.DelayNS
		if d == nil || d.Clock != runs[0].DelayNS.Clock {
			return nil
		}
		s.add(d.Min, d.P50, d.P99, d.Max)
	}
	sum := s.sum()
	sum.Clock = runs[0].DelayNS.Clock
	return sum
}

// sumTrips sums up the round trips of runs; nil where one has none.
func sumTrips(runs []result.LatencyRun) *result.LatencyTimes {
	var s latencies
	for _, r := range runs {
		if r.RTTNS == nil {
			return nil
		}
		s.add(r.RTTNS.Min, r.RTTNS.P50, r.RTTNS.P99, r.RTTNS.Max)
	}
	return s.sum()
}

// latencies are the figures of runs, in ns.
type latencies struct {
	result.LatencyTimes
	medians []float64
}

func (l *latencies) add(least, p50, p99, most int64) {
	if len(l.medians) == 0 || least < l.Min {
		l.Min = least
	}
	l.P99, l.Max = max(l.P99, p99), max(l.Max, most)
	l.medians = append(l.medians, float64(p50))
}

func (l *latencies) sum() *result.LatencyTimes {
	l.P50 = int64(stats.Median(l.medians))
	return &l.LatencyTimes
}
