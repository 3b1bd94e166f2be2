package bench

import (
	"slices"

	"linerate/bench/stats"
	"linerate/internal/result"
)

// reference is the path that ratios are to.
const reference = "udp"

// rows makes the table: one row for each cell that ran.
func rows(cells []*cell) []result.Row {
	var table []result.Row
	for _, x := range cells {
		if len(x.runs) == 0 {
			continue
		}
		row := x.row()
		for _, base := range cells {
			if base.frame == x.frame && base.path.Name == reference {
				row.Ratio, row.RatioCI95 = ratio(x, base)
			}
		}
		table = append(table, row)
	}
	return table
}

// row has the medians of a cell's trials, and the reports of the trial whose
// rate is the median (of an even number, the one below it).
func (x *cell) row() result.Row {
	row := result.Row{Family: string(x.path.Family)}
	var pps, l2, cost, receiverCost []float64
	for _, r := range x.runs {
		t := trial(r)
		row.Trials = append(row.Trials, t)
		pps, l2 = append(pps, t.PPS), append(l2, t.L2Bps)
		if t.NSPerPacket != nil {
			cost = append(cost, *t.NSPerPacket)
		}
		if t.ReceiverNS != nil {
			receiverCost = append(receiverCost, *t.ReceiverNS)
		}
	}
	row.RowRate = &result.RowRate{PPS: stats.Median(pps), L2Bps: stats.Median(l2)}
	row.NSPerPacket = medianOf(cost, len(x.runs))
	row.ReceiverNS = medianOf(receiverCost, len(x.runs))
	middle := x.runs[rank(pps, (len(pps)-1)/2)]
	row.Config, row.Sender, row.Receiver = *middle.sent.Config, middle.sent.Sender, middle.counted.Receiver
	row.Config.RX = middle.counted.Config.RX
	return row
}

// medianOf is the median of what all n trials have; nil if some do not.
func medianOf(values []float64, n int) *float64 {
	if len(values) < n {
		return nil
	}
	m := stats.Median(values)
	return &m
}

// trial is what one run came to: the rate is that of what arrived.
func trial(r run) result.Trial {
	t := result.Trial{
		Sent:        r.sent.Sender.Packets,
		Unique:      r.counted.Receiver.Unique,
		Lost:        r.counted.Receiver.Lost,
		NSPerPacket: r.sent.Sender.NSPerPacket,
	}
	if a := r.counted.Receiver.Arrivals; a != nil { // which a stock peer does not tell
		t.ReceiverNS = a.NSPerPacket
	}
	if rate := r.counted.Receiver.Rate; rate != nil {
		t.PPS = rate.PPS
	}
	if rate := r.sent.Sender.Rate; rate != nil && rate.PPS > 0 {
		t.L2Bps = t.PPS * rate.L2Bps / rate.PPS // bits of a frame as the sender made it
	}
	return t
}

// ratio compares two cells trial by trial: the pair of one round met the machine
// in one state.
func ratio(x, base *cell) (*float64, *[2]float64) {
	var ratios []float64
	for i := range min(len(x.runs), len(base.runs)) {
		if b := trial(base.runs[i]).PPS; b > 0 {
			ratios = append(ratios, trial(x.runs[i]).PPS/b)
		}
	}
	if len(ratios) == 0 {
		return nil, nil
	}
	m := stats.Median(ratios)
	if ci, ok := medianCI95(ratios); ok {
		return &m, &ci
	}
	return &m, nil
}

// rank is the index of the n-th smallest value.
func rank(values []float64, n int) int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	return order[n]
}
