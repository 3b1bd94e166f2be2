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
	o.times(b, "round trip", parts, r.Times)
}

// connects prints what handshakes took.
func (o Options) connects(b *strings.Builder, r *result.Connects) {
	parts := []string{"handshakes", fmt.Sprintf("%d of %d", r.Tried-r.Failed, r.Tried)}
	if r.Failed > 0 {
		parts = append(parts, o.paint(red, fmt.Sprintf("%d failed", r.Failed)))
	}
	o.times(b, "handshake", parts, r.Times)
}

// bounces prints what requests and their answers took.
func (o Options) bounces(b *strings.Builder, r *result.Bounces) {
	parts := []string{"transactions", fmt.Sprintf("%d of %d", r.Tried-r.Lost, r.Tried)}
	if r.Lost > 0 {
		parts = append(parts, o.paint(red, fmt.Sprintf("%d lost", r.Lost)))
	}
	if r.Times != nil {
		parts = append(parts, fmt.Sprintf("%.1f a second", r.PerSecond))
	}
	o.times(b, "transaction", parts, r.Times)
}

// times prints a distribution of times behind what they are of.
func (o Options) times(b *strings.Builder, what string, parts []string, t *result.Times) {
	if t == nil {
		o.line(b, " · ", parts...)
		return
	}
	o.line(b, " · ", append(parts, fmt.Sprintf("min %s, p50 %s, p99 %s, p99.9 %s, max %s",
		units.FormatNS(t.Min), units.FormatNS(t.P50), units.FormatNS(t.P99), units.FormatNS(t.P999), units.FormatNS(t.Max)))...)
	histogram(b, what, t.Histogram)
}
