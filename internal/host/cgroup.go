package host

import (
	"strconv"
	"strings"
	"time"
)

// parseCPUStat reads cpu.stat of a control group: how often its quota was used up
// and for how long its tasks then stood still. Version 2 counts in µs, version 1
// in ns. It is false for a group that has no such counters.
func parseCPUStat(text string) (periods uint64, stood time.Duration, known bool) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			continue
		}
		switch name {
		case "nr_throttled":
			periods, known = n, true
		case "throttled_usec":
			stood = time.Duration(n) * time.Microsecond
		case "throttled_time":
			stood = time.Duration(n)
		}
	}
	return periods, stood, known
}

// parseQuota makes cores of a quota and its period, both in µs: cpu.max of
// version 2 has them on one line, with max for none; version 1 has -1 for none.
func parseQuota(quota, period string) (cores float64, limited bool) {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q <= 0 {
		return 0, false
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}
