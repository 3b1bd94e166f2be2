package session

import (
	"math"
	"time"

	"linerate/gen/pace"
	"linerate/internal/cadence"
	"linerate/internal/result"
	"linerate/internal/units"
)

// gaps is what the report says of gaps; nil where there were none.
func gaps(g *cadence.Gaps) *result.Gaps {
	if g == nil {
		return nil
	}
	return &result.Gaps{
		Percentiles:     result.Percentiles{P50: g.P50, P99: g.P99, P999: g.P999, Max: g.Max},
		Within10Percent: g.Near,
	}
}

// windowLeast is how many packets a window has to hold for its rate to mean much.
const windowLeast = 10

// windows is what the report says of the rate in windows of time. nominal is the
// payload bytes a second that there ought to be; 0 where that changes.
func windows(r *cadence.Result, stack units.Stack, nominal float64) map[string]result.Window {
	var all map[string]result.Window
	for i, w := range r.Windows {
		if w.N == 0 || w.Most.Packets < windowLeast {
			continue
		}
		length := cadence.Lengths[i]
		out := result.Window{Windows: w.N, Least: loadRate(stack, w.Least, length), Most: loadRate(stack, w.Most, length)}
		if nominal > 0 {
			each := nominal * length.Seconds()
			worst := max(math.Abs(float64(w.Least.Bytes)-each), math.Abs(float64(w.Most.Bytes)-each)) / each
			out.Deviation = &worst
		}
		if all == nil {
			all = make(map[string]result.Window)
		}
		all[length.String()] = out
	}
	return all
}

// loadRate is the rate of a window, which is 0 where nothing came.
func loadRate(stack units.Stack, l cadence.Load, length time.Duration) *result.Rate {
	if l.Packets == 0 {
		return &result.Rate{}
	}
	return rate(stack, l.Packets, l.Bytes, length)
}

// nominalBytes is the payload bytes a second that a schedule asks for; 0 where it
// has no one rate.
func nominalBytes(s *pace.Schedule) float64 {
	if s.MicroRate == 0 || s.Profile != nil || s.Isochronous != nil {
		return 0
	}
	var bytes int
	for _, size := range s.Sizes {
		bytes += size
	}
	return float64(s.MicroRate) / units.MicrosPerUnit * float64(bytes) / float64(s.Cost(uint64(len(s.Sizes))))
}

// departures is what the sender's own stamps show of its pace.
func departures(c *cadence.Result, stack units.Stack, schedule *pace.Schedule) result.Cadence {
	return paced(c, stack, nominalBytes(schedule))
}

// arrivals is what the receiver's stamps show, against the mean rate.
func arrivals(c *cadence.Result, stack units.Stack, r *result.Receiver) result.Cadence {
	if r.Seconds == 0 {
		return paced(c, stack, 0)
	}
	return paced(c, stack, float64(r.UniquePayloadBytes)/r.Seconds)
}

func paced(c *cadence.Result, stack units.Stack, nominal float64) result.Cadence {
	if c == nil {
		return result.Cadence{}
	}
	return result.Cadence{GapNS: gaps(c.Gaps), LongestBurst: c.LongestRun, WorstWindow: windows(c, stack, nominal)}
}
