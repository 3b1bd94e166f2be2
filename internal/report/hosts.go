package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/result"
)

// host prints on one line what a host did in an interval and gave up: its cores,
// the packets it dropped by its kernel's reasons, and the counters of losses that
// rose.
func (o Options) host(b *strings.Builder, h *result.Host) {
	var parts []string
	if h.CPU != nil {
		parts = append(parts, "cpu "+cores(h.CPU.Process)+" % of a core")
		for _, c := range h.CPU.Cores {
			parts = append(parts, fmt.Sprintf("core %d %s %% (softirq %s)", c.Core, cores(1-c.Idle), cores(c.Softirq+c.IRQ)))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(h.DropReasons)) {
		parts = append(parts, fmt.Sprintf("%s +%d", reason, h.DropReasons[reason]))
	}
	parts = append(parts, losses(h.Counters)...)
	if h.NIC != nil {
		parts = append(parts, losses(h.NIC.Counters)...)
	}
	if len(parts) > 0 {
		o.line(b, ", ", append([]string{"  " + h.Role + ": " + parts[0]}, parts[1:]...)...)
	}
}

// losses are the counters that rose of those that count what was given up.
func losses(counters map[string]result.Counter) []string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		c := counters[name]
		lost := func(part string) bool { return strings.Contains(strings.ToLower(name), part) }
		if c.After > c.Before && slices.ContainsFunc([]string{"drop", "error", "fail", "discard", "noport", "noroute", "missed", "no_buffer"}, lost) {
			said = append(said, fmt.Sprintf("%s +%d", name, c.After-c.Before))
		}
	}
	return said
}
