package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// Compare prints a table of the paths for each frame size, fastest first, and
// what could not run here.
func Compare(w io.Writer, r *result.Report, o Options) error {
	var b strings.Builder
	for i, rows := range bySize(r.Results) {
		if i > 0 {
			b.WriteByte('\n')
		}
		o.compared(&b, r.Config, rows)
	}
	for _, n := range r.NotHere {
		fmt.Fprintf(&b, "not here: %s (%s)\n", n.Path, n.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bySize groups rows by what they sent, in the order of first appearance.
func bySize(rows []result.Row) [][]result.Row {
	var groups [][]result.Row
	for _, row := range rows {
		i := slices.IndexFunc(groups, func(g []result.Row) bool {
			return size(&g[0].Config) == size(&row.Config)
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return groups
}

// size is what a table of compare has in common.
func size(c *result.Config) string {
	if c.IMIX != "" {
		return "frames of " + c.IMIX
	}
	return fmt.Sprintf("%d-byte frames", c.FrameBytes)
}

// compared prints the table of one frame size.
func (o Options) compared(b *strings.Builder, c *result.Config, rows []result.Row) {
	rows = slices.SortedStableFunc(slices.Values(rows), func(x, y result.Row) int { return cmp.Compare(y.PPS, x.PPS) })
	var pps, bps []*float64
	for i := range rows {
		pps, bps = append(pps, &rows[i].PPS), append(bps, &rows[i].L2Bps)
	}
	ppsUnit, ppsCells := oneUnit(pps, units.PacketUnit)
	bpsUnit, bpsCells := oneUnit(bps, units.BitUnit)
	t := table{
		heads: []string{"path", "family", ppsUnit, bpsUnit + " L2", "× udp", "", "send ns/pkt", "recv ns/pkt", "lost"},
		left:  []bool{true, true, false, false, false, true, false, false, false},
	}
	for i, row := range rows {
		ratio, spread := "-", ""
		if row.Ratio != nil {
			ratio = fmt.Sprintf("%.2f", *row.Ratio)
		}
		if row.Ratio != nil && row.RatioCI95 != nil {
			// The interval need not be symmetric; its wider side is the honest one.
			spread = fmt.Sprintf("±%.2f", max(row.RatioCI95[1]-*row.Ratio, *row.Ratio-row.RatioCI95[0]))
		}
		t.rows = append(t.rows, []string{pathOf(&row), row.Family, ppsCells[i], bpsCells[i], ratio, spread, costOf(row.NSPerPacket), costOf(row.ReceiverNS), lostOf(&row)})
	}
	if o.Width >= barsFrom {
		t.insertBars(3, pps, min(o.Width-t.width()-len(gutter), maxBar))
	}
	o.line(b, ", ", title(c, rows)...)
	t.write(b)
}

// pathOf names a row's path, and whether it sent super-frames, which only path gso
// says by its name.
func pathOf(row *result.Row) string {
	if row.Sender != nil && row.Sender.SuperPackets > 1 && row.Config.Path != "gso" {
		return row.Config.Path + "+gso"
	}
	return row.Config.Path
}

// title says what the rows of a table have in common.
func title(c *result.Config, rows []result.Row) []string {
	parts := []string{"kernel path and raw path", size(&rows[0].Config)}
	if c != nil && c.Interface != "" {
		parts = append(parts, c.Interface)
	}
	if c != nil && c.RX != "" {
		parts = append(parts, "counted by "+c.RX)
	}
	fewest, most := len(rows[0].Trials), len(rows[0].Trials)
	for _, row := range rows {
		fewest, most = min(fewest, len(row.Trials)), max(most, len(row.Trials))
	}
	trials := count(uint64(most), "trial")
	if fewest != most {
		trials = fmt.Sprintf("%d to %s", fewest, trials)
	}
	parts[len(parts)-1] += " (" + trials + " each)"
	return parts
}

// costOf is a processor's time for a packet.
func costOf(ns *float64) string {
	if ns == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *ns)
}

// lostOf is the share of what a row's trials sent that was lost.
func lostOf(row *result.Row) string {
	var sent, lost uint64
	for _, trial := range row.Trials {
		sent += trial.Sent
		lost += trial.Lost
	}
	switch {
	case sent == 0:
		return "-"
	case lost == 0:
		return "0"
	}
	return units.FormatPercent(float64(lost) / float64(sent))
}

// Bars are drawn on terminals of at least barsFrom columns.
const (
	barsFrom = 100
	maxBar   = 40
)

// insertBars inserts a column of bars of up to width columns, as long as the
// values of the rows.
func (t *table) insertBars(at int, values []*float64, width int) {
	var most float64
	for _, v := range values {
		most = max(most, *v)
	}
	if width < 1 || most <= 0 {
		return
	}
	t.heads = slices.Insert(t.heads, at, "")
	t.left = slices.Insert(t.left, at, true)
	for i, v := range values {
		t.rows[i] = slices.Insert(t.rows[i], at, bar(*v/most*float64(width)))
	}
}

// bar draws a bar of so many columns, to an eighth.
func bar(length float64) string {
	eighths := int(math.Round(length * 8))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest != 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
