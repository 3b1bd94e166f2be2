package report

import (
	"fmt"
	"strings"

	"linerate/internal/result"
)

// sums prints what all flows had together, both ways of a test counted as one, where
// the stock program does.
func (p *IPerf2) sums(b *strings.Builder, r *result.Report, ds []oneWay) {
	flows := 0
	for i := range ds {
		flows += len(ds[i].lines)
	}
	duplex := fullDuplex(r)
	if p.o.CSV || !p.summed(flows, ds, duplex) {
		return
	}
	all := together(ds)
	switch {
	case !duplex || !p.o.UDP:
		p.sum(b, &all)
	case p.o.Enhanced && flows == len(ds):
		p.datagramSum(b, fmt.Sprintf("[FD%d]", p.first[r]+1), &all)
	default:
		p.datagramSum(b, "[SUM]", &all)
	}
	if p.o.UDP && !p.o.Server && ds[0].whole && ds[0].sent && !(duplex && p.o.Enhanced) {
		fmt.Fprintf(b, "[SUM-%d] Sent %d datagrams\n", flows, all.packets)
	}
}

// summed says whether the stock program sums up: several flows of one way always, the
// two ways of one connection at the end of a test without intervals and with -e over
// UDP, and those of -d at the server.
func (p *IPerf2) summed(flows int, ds []oneWay, duplex bool) bool {
	switch {
	case len(ds) == 1 || flows > len(ds):
		return flows > 1
	case duplex:
		return ds[0].whole && p.o.Interval == 0 || p.o.Enhanced && p.o.UDP
	}
	return p.o.Server
}

// together adds up both ways. What was lost of the datagrams is told at a server of
// -d, whose total has those that it sent.
func together(ds []oneWay) line {
	all := ds[0].sum
	if all.received != nil {
		c := *all.received
		all.received = &c
	}
	for i := range ds[1:] {
		way := &ds[1+i].sum
		all.start, all.end = min(all.start, way.start), max(all.end, way.end)
		all.bytes += way.bytes
		all.packets += way.packets
		if all.received != nil {
			all.received.total += way.packets
		}
	}
	return all
}

// sum prints what several flows had together.
func (p *IPerf2) sum(b *strings.Builder, l *line) {
	p.heading(b, headPlain)
	times := fmt.Sprintf("[SUM] %4.4f-%4.4f sec", l.start, l.end)
	fmt.Fprintf(b, "%s  %s  %s", times, p.o.transfer(l.bytes), p.o.rate(l.bytes, l.end-l.start))
	if c := l.received; c != nil {
		fmt.Fprintf(b, "   %d/%d (%s)", c.lost, c.total, iperf2Percent(c.lost, c.total))
	}
	b.WriteByte('\n')
	if c := l.received; c != nil && c.outOfOrder > 0 {
		fmt.Fprintf(b, "%s  %d datagrams received out-of-order\n", times, c.outOfOrder)
	}
}

// datagramSum prints what went both ways of connections that serve both over UDP.
func (p *IPerf2) datagramSum(b *strings.Builder, id string, l *line) {
	p.heading(b, headDatagrams)
	seconds := l.end - l.start
	fmt.Fprintf(b, "%s %4.4f-%4.4f sec  %s  %s %d %7.0f pps\n",
		id, l.start, l.end, p.o.transfer(l.bytes), p.o.rate(l.bytes, seconds), l.packets, perSecond(l.packets, seconds))
}
