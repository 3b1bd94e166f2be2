package report

import (
	"math"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// delayHistogram prints that of one-way delay, if it is there.
func delayHistogram(b *strings.Builder, what string, r *result.Receiver) {
	if r.Arrivals != nil && r.DelayNS != nil {
		histogram(b, what, r.DelayNS.Histogram)
	}
}

// barWidth is the columns of a histogram's longest bar.
const barWidth = 40

// histogram prints a distribution as bars, of which each is for values from a
// round number, 1, 2 or 5 times a power of ten, to below the next.
func histogram(b *strings.Builder, what string, all []result.Bucket) {
	if len(all) == 0 {
		return
	}
	t := table{heads: []string{what, "count", "share", ""}, left: []bool{true, false, false, true}}
	rows := coarse(all)
	var total, most uint64
	for _, r := range rows {
		total, most = total+r.N, max(most, r.N)
	}
	for _, r := range rows {
		bar := int((r.N*barWidth + most - 1) / most)
		t.rows = append(t.rows, []string{
			"below " + units.FormatNS(r.To), number(r.N), units.FormatPercent(float64(r.N) / float64(total)), strings.Repeat("#", bar),
		})
	}
	t.write(b)
}

// coarse puts buckets together between round numbers; those that are empty stand
// between others that are not. To is the first value above each.
func coarse(all []result.Bucket) []result.Bucket {
	var rows []result.Bucket
	to := roundAbove(all[0].From)
	for i := 0; i < len(all); to = roundAbove(to) {
		r := result.Bucket{To: to}
		for ; i < len(all) && all[i].From < to; i++ {
			r.N += all[i].N
		}
		rows = append(rows, r)
	}
	return rows
}

// roundAbove is the least of 1, 2 and 5 times a power of ten above v; 0 above what
// is negative.
func roundAbove(v int64) int64 {
	if v < 0 {
		return 0
	}
	for scale := int64(1); scale <= math.MaxInt64/10; scale *= 10 {
		for _, digit := range []int64{1, 2, 5} {
			if digit*scale > v {
				return digit * scale
			}
		}
	}
	return math.MaxInt64
}
