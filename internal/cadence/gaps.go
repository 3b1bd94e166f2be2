package cadence

import hdr "github.com/HdrHistogram/hdrhistogram-go"

const (
	// reach is the longest gap that is told apart, 69 s: longer ones count as that
	// long, but for the longest.
	reach  = 1 << 36
	digits = 3
)

// near is how far a gap may be from the nominal one to count as close to it: a
// tenth.
const near = 0.1

// gaps is the distribution of gaps in ns, good to 1/1024 and exact up to 2 µs.
type gaps struct {
	histogram *hdr.Histogram
	longest   int64
}

func newGaps() gaps { return gaps{histogram: hdr.New(1, reach-1, digits)} }

func (g *gaps) add(gap int64, n uint64) {
	if n == 0 {
		return
	}
	g.longest = max(g.longest, gap)
	_ = g.histogram.RecordValues(min(gap, reach-1), int64(n)) // in range by the bound
}

// Gaps are percentiles in ns, without interpolation (RFC 2330 section 11.3).
type Gaps struct {
	N                   uint64
	P50, P99, P999, Max int64
	// Near is the share of them within a tenth of the nominal gap; nil where there is
	// no such gap.
	Near *float64
}

func (g *gaps) result(nominal float64) *Gaps {
	n := uint64(g.histogram.TotalCount())
	if n == 0 {
		return nil
	}
	r := &Gaps{N: n, P50: g.at(500_000), P99: g.at(990_000), P999: g.at(999_000), Max: g.longest}
	if nominal > 0 {
		share := g.share(nominal*(1-near), nominal*(1+near))
		r.Near = &share
	}
	return r
}

// at is the smallest gap that so many millionths of all don't exceed.
func (g *gaps) at(ppm uint64) int64 {
	const million = 1_000_000
	n := uint64(g.histogram.TotalCount())
	rank := n/million*ppm + (n%million*ppm+million-1)/million
	// The library rounds the fraction that it takes back to the rank.
	return min(g.histogram.ValueAtPercentile(100*float64(rank)/float64(n)), g.longest)
}

// share is that of the gaps from lo to hi, by the middle of their bucket.
func (g *gaps) share(lo, hi float64) float64 {
	var n int64
	for _, bar := range g.histogram.Distribution() {
		if middle := float64(bar.From+bar.To) / 2; middle >= lo && middle <= hi {
			n += bar.Count
		}
	}
	return float64(n) / float64(g.histogram.TotalCount())
}
