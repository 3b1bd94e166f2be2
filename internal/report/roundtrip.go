package report

import (
	"fmt"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// roundTrips prints what round trips took beside the load.
func (o Options) roundTrips(b *strings.Builder, r *result.RoundTrips) {
	if r == nil {
		return
	}
	parts := []string{"round trip", count(r.Sent, "probe")}
	if r.Lost > 0 {
		parts = append(parts, o.paint(red, fmt.Sprintf("%d lost", r.Lost)))
	}
	if t := r.TripTimes; t != nil {
		parts = append(parts, fmt.Sprintf("min %s, p50 %s, p99 %s, p99.9 %s, max %s",
			units.FormatNS(t.Min), units.FormatNS(t.P50), units.FormatNS(t.P99), units.FormatNS(t.P999), units.FormatNS(t.Max)))
	}
	o.line(b, " · ", parts...)
	if r.TripTimes != nil {
		histogram(b, "round trip", r.Histogram)
	}
}
