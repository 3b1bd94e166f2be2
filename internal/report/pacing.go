package report

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// bursts says what left of isochronous traffic; empty for any other.
func bursts(s *result.Sender) string {
	if s.SentPacing == nil || s.Bursts == nil {
		return ""
	}
	b := s.Bursts
	return fmt.Sprintf("%s of %.0f bytes on average, stddev %.0f", count(b.Sent, "burst"), b.MeanBytes, b.StdDevBytes)
}

// gaps is the distribution of the time between packets.
func (o Options) gaps(c *result.Cadence) string {
	if c.GapNS == nil {
		return ""
	}
	g := c.GapNS
	notes := []quantile{{"p99", g.P99}}
	if o.Verbose {
		notes = append(notes, quantile{"p99.9", g.P999}, quantile{"max", g.Max})
	}
	s := "gaps " + units.FormatNS(g.P50) + " (" + percentiles(g.P50, notes)
	if o.Verbose && g.Within10Percent != nil {
		s += ", " + units.FormatPercent(*g.Within10Percent) + " within 10 % of nominal"
	}
	if c.LongestBurst != 0 {
		s += fmt.Sprintf(", longest burst %d", c.LongestBurst)
	}
	return s + ")"
}

// windows prints the worst windows of the rate, the shortest first.
func (o Options) windows(b *strings.Builder, c *result.Cadence) {
	if !o.Verbose {
		return
	}
	var parts []string
	for length, w := range c.WorstWindow {
		s := fmt.Sprintf("%s windows from %s to %s", length, units.FormatPackets(w.Least.PPS), units.FormatPackets(w.Most.PPS))
		if w.Deviation != nil {
			s += ", off by up to " + units.FormatPercent(*w.Deviation)
		}
		parts = append(parts, s)
	}
	slices.Sort(parts)
	if len(parts) != 0 {
		o.line(b, " · ", parts...)
	}
}
