package ledger

import (
	"fmt"
	"strings"

	"linerate/internal/result"
)

// counts are counters of one host, with their place for the evidence.
type counts struct {
	of    map[string]result.Counter
	where string
}

// net are the counters of a host's network namespace; a nil host has none.
func net(h *result.Host, role string) counts {
	if h == nil {
		return counts{}
	}
	return counts{h.Counters, "on the " + role}
}

// nic are the counters of the test's interface.
func nic(h *result.Host, role string) counts {
	if h == nil || h.NIC == nil {
		return counts{}
	}
	return counts{h.NIC.Counters, fmt.Sprintf("of %s on the %s", h.NIC.Interface, role)}
}

// rise is by how much a counter rose; false if it is unknown.
func (c counts) rise(name string) (uint64, bool) {
	n, known := c.of[name]
	return n.After - n.Before, known
}

// sum is by how much counters rose together; unknown ones add nothing.
func (c counts) sum(names ...string) (total uint64) {
	for _, name := range names {
		n, _ := c.rise(name)
		total += n
	}
	return total
}

// evidence quotes those of the counters that rose.
func (c counts) evidence(names ...string) string {
	var quotes []string
	for _, name := range names {
		if n, _ := c.rise(name); n > 0 {
			quotes = append(quotes, fmt.Sprintf("%s %d to %d", name, c.of[name].Before, c.of[name].After))
		}
	}
	if len(quotes) == 0 {
		return ""
	}
	return strings.Join(quotes, ", ") + " " + c.where
}

// and joins pieces of evidence.
func and(pieces ...string) string {
	var said []string
	for _, p := range pieces {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}
