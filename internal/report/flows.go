package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// maxFlows is how many flows are shown unless all are asked for.
const maxFlows = 16

// flows prints a line a flow where there are several; of many those that lost
// the most, unless verbose.
func (o Options) flows(b *strings.Builder, flows []result.Receiver) {
	if len(flows) < 2 {
		return
	}
	shown := flows
	if len(flows) > maxFlows && !o.Verbose {
		shown = slices.SortedStableFunc(slices.Values(flows), func(x, y result.Receiver) int { return cmp.Compare(y.Lost, x.Lost) })[:maxFlows]
	}
	var rates []*float64
	for _, f := range shown {
		if f.Rate == nil {
			rates = append(rates, nil)
		} else {
			rates = append(rates, &f.Rate.L4Bps)
		}
	}
	unit, cells := oneUnit(rates, units.BitUnit)
	t := table{
		heads: []string{"flow", "packets", unit + " L4", "lost", "loss", "dup", "reord", "jitter"},
		left:  make([]bool, 8),
	}
	for i, f := range shown {
		name, loss := "-", "-"
		if f.Flow != nil {
			name = strconv.Itoa(int(*f.Flow))
		}
		if f.LossRatio != nil {
			loss = units.FormatPercent(*f.LossRatio)
		}
		lost := number(f.Lost)
		if f.Lost != 0 {
			lost = o.paint(red, lost)
		}
		reordered := "-" // a stock peer does not tell
		if f.Arrivals != nil {
			reordered = number(f.Reordered)
		}
		t.rows = append(t.rows, []string{name, number(f.Packets), cells[i], lost, loss, number(f.Duplicates), reordered, nanoseconds(f.JitterNS)})
	}
	t.write(b)
	if more := len(flows) - len(shown); more > 0 {
		fmt.Fprintf(b, "and %d more that lost no more than these\n", more)
	}
}
