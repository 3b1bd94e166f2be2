package pace

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Gaps are percentiles of the time between departures, in ns.
type Gaps struct{ P50, P99, P999, Max int64 }

// gaps watches the departures of a test: the spread of the gaps between them
// and the longest run without a pause.
type gaps struct {
	first, last int64         // CLOCK_MONOTONIC ns of the first and the last departure
	lastDue     time.Duration // when the last burst was due, debt given up left aside
	cost        uint64        // what all packets took of the rate
	lastCost    uint64        // and those of the last burst
	started     bool
	run         int // packets since the sender last waited
	longest     int
	histogram   *hdrhistogram.Histogram // nil where packets of a burst share a stamp
}

// longestGap bounds the histogram; a test slower than a packet an hour has its
// gaps counted as an hour.
const longestGap = int64(time.Hour)

func (g *gaps) init(single bool) {
	if single {
		g.histogram = hdrhistogram.New(1, longestGap, 3)
	}
}

// add accounts for n packets of the burst that was due at due, leaving at a time
// in ns; cost is what they take of the rate.
func (g *gaps) add(due time.Duration, at int64, n int, waited bool, cost uint64) {
	if !g.started {
		g.started, g.first = true, at
	} else if g.histogram != nil {
		_ = g.histogram.RecordValue(min(at-g.last, longestGap)) // in range by the bound
	}
	if waited {
		g.run = 0
	}
	g.run += n
	g.longest = max(g.longest, g.run)
	g.last, g.lastDue = at, due
	g.lastCost, g.cost = cost, g.cost+cost
}

func (g *gaps) percentiles() *Gaps {
	if g.histogram == nil || g.histogram.TotalCount() == 0 {
		return nil
	}
	h := g.histogram
	return &Gaps{h.ValueAtQuantile(50), h.ValueAtQuantile(99), h.ValueAtQuantile(99.9), h.Max()}
}
