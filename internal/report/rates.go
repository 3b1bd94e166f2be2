package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// Search prints the highest rate of each frame size, and why there was no higher.
func Search(w io.Writer, r *result.Report, o Options) error {
	var b strings.Builder
	var pps, bps []*float64
	for i := range r.Results {
		pps, bps = append(pps, r.Results[i].Found.PPS), append(bps, l2Of(&r.Results[i]))
	}
	ppsUnit, ppsCells := oneUnit(pps, units.PacketUnit)
	bpsUnit, bpsCells := oneUnit(bps, units.BitUnit)
	t := table{
		heads: []string{"frame", "loss", ppsUnit, bpsUnit + " L2", "of line", "delay p50 / p99", "longest burst", "trials", "stopped because"},
		left:  []bool{false, true, false, false, false, false, false, false, true},
	}
	for i := range r.Results {
		row := &r.Results[i]
		loss, line := "none", "-"
		if row.Found.LossRatio > 0 {
			loss = "≤ " + units.FormatPercent(row.Found.LossRatio)
		}
		if row.Found.LineRatio != nil {
			line = units.FormatPercent(*row.Found.LineRatio)
		}
		t.rows = append(t.rows, []string{
			fmt.Sprint(row.Config.FrameBytes), loss, ppsCells[i], bpsCells[i], line, latency(row), burst(row.Found.BackToBack),
			fmt.Sprint(len(row.Trials)), row.Found.Reason,
		})
	}
	if !slices.ContainsFunc(r.Results, func(row result.Row) bool { return row.Found.BackToBack != nil }) {
		t.without(6)
	}
	if len(t.rows) > 0 {
		t.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// l2Of is the rate of a row at L2; nil where none was found.
func l2Of(row *result.Row) *float64 {
	if row.RowRate == nil {
		return nil
	}
	return &row.L2Bps
}

// latency is the delay at the rate that was found: of runs of their own, if there
// were any, else of the trial. Where clocks differ, round trips say more.
func latency(row *result.Row) string {
	l := row.Found.Latency
	switch {
	case l == nil:
		return delays(row.Receiver)
	case l.DelayNS != nil && (l.DelayNS.Clock != "relative" || l.RTTNS == nil):
		return units.FormatNS(l.DelayNS.P50) + " / " + units.FormatNS(l.DelayNS.P99)
	case l.RTTNS != nil:
		return units.FormatNS(l.RTTNS.P50) + " / " + units.FormatNS(l.RTTNS.P99) + " (round trip)"
	}
	return "-"
}

// burst is the longest burst that lost nothing, with the spread of what was found.
func burst(b *result.BackToBack) string {
	switch {
	case b == nil:
		return "-"
	case b.Min == b.Max:
		return fmt.Sprint(b.Max)
	}
	return fmt.Sprintf("%.0f (%d to %d)", b.Frames, b.Min, b.Max)
}

// delays are the middle and the tail of one-way delay, where it was measured.
func delays(r *result.Receiver) string {
	if r == nil || r.Arrivals == nil || r.DelayNS == nil {
		return "-"
	}
	return units.FormatNS(r.DelayNS.P50) + " / " + units.FormatNS(r.DelayNS.P99)
}

// Sweep prints what was lost at each rate of each frame size.
func Sweep(w io.Writer, r *result.Report, o Options) error {
	var b strings.Builder
	var offered, came, bps []*float64
	for i := range r.Results {
		row := &r.Results[i]
		offered, came, bps = append(offered, &row.Trials[0].Offered.PPS), append(came, &row.PPS), append(bps, &row.L2Bps)
	}
	unit, _ := oneUnit(append(offered, came...), units.PacketUnit)
	_, divisor := units.PacketUnit(most(offered))
	bpsUnit, bpsCells := oneUnit(bps, units.BitUnit)
	t := table{
		heads: []string{"frame", "offered " + unit, "came " + unit, bpsUnit + " L2", "lost", "delay p50 / p99"},
		left:  make([]bool, 6),
	}
	for i := range r.Results {
		row := &r.Results[i]
		loss := 0.0
		for _, trial := range row.Trials {
			if !trial.Again {
				loss = max(loss, trial.Offered.LossRatio)
			}
		}
		lost := "0"
		if loss > 0 {
			lost = o.paint(red, units.FormatPercent(loss))
		}
		in := func(v float64) string { return fmt.Sprintf("%.*f", units.Decimals(v/divisor, 4), v/divisor) }
		t.rows = append(t.rows, []string{
			fmt.Sprint(row.Config.FrameBytes), in(*offered[i]), in(*came[i]), bpsCells[i], lost, delays(row.Receiver),
		})
	}
	if len(t.rows) > 0 {
		t.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func most(values []*float64) (v float64) {
	for _, x := range values {
		v = max(v, *x)
	}
	return v
}
