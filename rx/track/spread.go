package track

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// reach is the farthest from 0 that a spread tells values apart, in ns: what
// lies farther counts as that far, but for the extremes. Two digits and 69
// seconds make a histogram of 30 KiB.
const (
	reach  = 1 << 36
	digits = 2
)

// A spread is the distribution of a signed time in ns. The extremes are exact;
// the rest is good to 1/128 of its distance from 0, and exact up to 255 ns.
type spread struct {
	up, down *hdr.Histogram // what is at least 0; the size of what is less
	min, max int64
}

func newSpread() *spread {
	return &spread{hdr.New(1, reach-1, digits), hdr.New(1, reach-1, digits), math.MaxInt64, math.MinInt64}
}

func (s *spread) record(v int64) {
	s.min, s.max = min(s.min, v), max(s.max, v)
	if v >= 0 {
		s.up.RecordValue(min(v, reach-1))
	} else {
		s.down.RecordValue(-max(v, 1-reach))
	}
}

func (s *spread) merge(o *spread) {
	s.up.Merge(o.up)
	s.down.Merge(o.down)
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
}

func (s *spread) count() uint64 { return uint64(s.up.TotalCount() + s.down.TotalCount()) }

// at is the value of a rank, from 1, of the values in ascending order.
func (s *spread) at(rank uint64) int64 {
	var v int64
	if down := uint64(s.down.TotalCount()); rank <= down {
		v = -ranked(s.down, down-rank+1)
	} else {
		v = ranked(s.up, rank-down)
	}
	return min(max(v, s.min), s.max)
}

// ranked is the value of a rank in a histogram that has as many. The library
// rounds the fraction that it takes back to the rank.
func ranked(h *hdr.Histogram, rank uint64) int64 {
	return h.ValueAtPercentile(100 * float64(rank) / float64(h.TotalCount()))
}

// rank is the rank of a quantile among n values in ascending order: the
// smallest value that at least this share of them don't exceed (RFC 2330,
// section 11.3).
func rank(n, ppm uint64) uint64 {
	const million = 1_000_000
	return n/million*ppm + (n%million*ppm+million-1)/million
}

// percentiles are of the values, all moved by an offset; nil if there are none.
func (s *spread) percentiles(offset int64) *Percentiles {
	n := s.count()
	if n == 0 {
		return nil
	}
	return &Percentiles{
		N:    n,
		Min:  s.min + offset,
		P50:  s.at(rank(n, 500_000)) + offset,
		P99:  s.at(rank(n, 990_000)) + offset,
		P999: s.at(rank(n, 999_000)) + offset,
		Max:  s.max + offset,
	}
}

// delay is of transits, all moved by an offset; nil if there are none.
func (s *spread) delay(offset int64, by Settlement) *Delay {
	p := s.percentiles(offset)
	if p == nil {
		return nil
	}
	return &Delay{Percentiles: *p, Clock: by.Clock, ErrorNS: by.ErrorNS}
}

// variation is of transits above the least (RFC 5481 section 4.2); nil if there are
// none.
func (s *spread) variation() *Percentiles {
	if s.count() == 0 {
		return nil
	}
	return s.percentiles(-s.min)
}
