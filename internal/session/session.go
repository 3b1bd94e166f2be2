// Package session turns one plan into one result: it opens the path, runs the
// worker, shows each interval, stops, drains and settles the accounts.
package session

import (
	"net/netip"
	"time"

	"linerate/internal/host"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
)

// An Observer sees a test while it runs. Its calls come from one goroutine.
type Observer interface {
	// Started tells what is about to be done; the config is complete.
	Started(*result.Report)
	// Interval has one interval of the test; the report holds it already.
	Interval(*result.Report, *result.Interval)
	// Progress says several times a second in one line how far the test is.
	Progress(line string)
}

// kernelDoubles is by how much getsockopt tells a socket buffer larger than what
// it was asked for: the kernel adds room for its own bookkeeping (socket(7)).
const kernelDoubles = 2

// newReport begins the report of a test.
func newReport(command, version string, c result.Config, warnings []string) *result.Report {
	return &result.Report{
		Schema:   result.Schema,
		Linerate: version,
		Command:  command,
		Started:  time.Now().Format(time.RFC3339Nano),
		Config:   &c,
		Warnings: warnings,
	}
}

// flow is what tells the packets of a test, to so many ports in a row, from others
// among a host's drops.
func flow(to netip.AddrPort, ports int, f probe.Format) host.Flow {
	if f == probe.Native {
		return host.Flow{To: to, Ports: ports, Magic: probe.MagicData}
	}
	return host.Flow{To: to, Ports: ports}
}

// flow is where the packets come.
func (r *receiving) flow() host.Flow {
	ports := max(1, r.plan.Config.Ports)
	if s := r.plan.Config.Sockets; len(s) > 0 { // a client's are in a row, a server's are one
		ports = 1 + int(localPort(s[len(s)-1])) - int(localPort(s[0]))
	}
	f := flow(r.plan.Config.Local, ports, r.plan.Track.Format)
	f.Unwatched = r.plan.Path.InKernel
	return f
}

// flows are those of a test's legs, as far as they have packets.
func flows(legs ...leg) []host.Flow {
	var all []host.Flow
	for _, l := range legs {
		switch l := l.(type) {
		case *receiving:
			all = append(all, l.flow())
		case *sending:
			all = append(all, l.flow())
		}
	}
	return all
}

// rate is what packets of so many payload bytes in all make at each layer; nil
// where no time passed to make a rate of.
func rate(stack units.Stack, packets, payloadBytes uint64, d time.Duration) *result.Rate {
	if packets == 0 || d <= 0 {
		return nil
	}
	// Frames of one size count with their padding; in a mix none is padded, and
	// headers add the same to each.
	at := func(l units.Layer) float64 {
		mean := float64(payloadBytes) / float64(packets)
		if size := int(mean); float64(size) == mean {
			return float64(stack.BytesAt(l, size))
		}
		const unpadded = 1000
		return mean + float64(stack.BytesAt(l, unpadded)-unpadded)
	}
	pps := float64(packets) / d.Seconds()
	return &result.Rate{
		PPS:   pps,
		L1Bps: 8 * at(units.L1) * pps,
		L2Bps: 8 * at(units.L2) * pps,
		L3Bps: 8 * at(units.L3) * pps,
		L4Bps: 8 * at(units.L4) * pps,
	}
}
