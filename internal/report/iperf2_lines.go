package report

import (
	"fmt"
	"strings"

	"linerate/internal/result"
)

// A oneWay is what went one way in an interval, or in the whole test, as
// this end saw it.
type oneWay struct {
	sent  bool   // by this end
	star  bool   // marked as against the ordinary way
	whole bool   // of the whole test
	lines []line // one per flow
	sum   line
}

// A line is what one flow had in a time.
type line struct {
	stream     int // index in the report's streams; -1 for a sum
	start, end float64
	bytes      uint64
	packets    uint64    // over UDP
	refused    uint64    // times that the kernel took no datagram, for a sender
	received   *received // nil for a sender, and over TCP
}

// received is what a receiver tells of datagrams. Total has those that are missing.
type received struct {
	jitterNS                *int64
	lost, total, outOfOrder uint64
}

// directions are what this end saw in an interval or, where iv is nil, in the
// test: the ordinary direction, then the second one of a test both ways.
func (p *IPerf2) directions(r *result.Report, iv *result.Interval) []oneWay {
	both := r.Config.Direction == bothWays
	sends := p.o.Server == (r.Config.Direction == againstWay)
	ds := []oneWay{p.direction(r, iv, sends, false)}
	if both {
		ds = append(ds, p.direction(r, iv, !sends, true))
	}
	for i := range ds {
		d := &ds[i]
		backward := len(r.Streams) > 0 && p.backward(r, r.Streams[d.lines[0].stream])
		if p.o.Server {
			d.star = d.sent && (both || backward)
		} else {
			d.star = !d.sent && !backward
		}
	}
	return ds
}

// backward says whether the server opened a stream to the client, as -d and -r have
// it do. What comes on such a one is no reversal.
func (p *IPerf2) backward(r *result.Report, s result.Stream) bool {
	if p.o.Server {
		_, port := splitAddr(s.Local)
		return int(port) != p.port
	}
	_, to := splitAddr(s.Remote)
	_, port := splitAddr(r.Config.Destination)
	return to != port
}

// Directions in a report's config.
const (
	againstWay = "reverse"
	bothWays   = "bidir"
)

// streams are the indices of the streams on which this end sends, or receives.
func streams(r *result.Report, sends bool) (indices []int) {
	for i, s := range r.Streams {
		if s.Sender == sends {
			indices = append(indices, i)
		}
	}
	return indices
}

// direction reads one direction; second says that it is that of the report's
// Reverse.
func (p *IPerf2) direction(r *result.Report, iv *result.Interval, sends, second bool) oneWay {
	d := oneWay{sent: sends, whole: iv == nil}
	if iv == nil {
		sender, receiver := r.Sender, r.Receiver
		if second && r.Reverse != nil {
			sender, receiver = r.Reverse.Sender, r.Reverse.Receiver
		}
		if sends {
			d.sum, d.lines = sentLines(sender)
		} else {
			d.sum, d.lines = receivedLines(receiver)
		}
	} else {
		sender, receiver := iv.Sender, iv.Receiver
		if second && iv.Reverse != nil {
			sender, receiver = iv.Reverse.Sender, iv.Reverse.Receiver
		}
		if sends {
			d.sum, d.lines = sentIntervalLines(sender, iv)
		} else {
			d.sum, d.lines = receivedIntervalLines(receiver, iv)
		}
	}
	d.number(r)
	return d
}

// fullDuplex says whether the same connections serve both ways.
func fullDuplex(r *result.Report) bool {
	return r.Config.Direction == bothWays && (len(streams(r, true)) == 0 || len(streams(r, false)) == 0)
}

// number gives each flow its stream, in the order of both. Where one connection
// serves both ways, it stands in the report once.
func (d *oneWay) number(r *result.Report) {
	of := streams(r, d.sent)
	if len(of) == 0 {
		of = streams(r, !d.sent)
	}
	if len(d.lines) == 0 {
		d.lines = []line{d.sum}
	}
	for i := range d.lines {
		if i < len(of) {
			d.lines[i].stream = of[i]
		}
	}
	d.sum.stream = -1
}

func sentLines(s *result.Sender) (sum line, flows []line) {
	if s == nil {
		return line{}, nil
	}
	sum = line{end: s.Seconds, bytes: s.PayloadBytes}
	if s.SentPackets != nil {
		sum.packets = s.Packets
	}
	if s.SentPacing != nil {
		sum.refused = s.Refused
	}
	for i := range s.Flows {
		l, _ := sentLines(&s.Flows[i])
		flows = append(flows, l)
	}
	return sum, flows
}

func receivedLines(r *result.Receiver) (sum line, flows []line) {
	if r == nil {
		return line{}, nil
	}
	sum = line{end: r.Seconds, bytes: r.PayloadBytes}
	if a := r.ArrivedPackets; a != nil {
		sum.packets = a.Packets
		sum.received = &received{a.JitterNS, a.Lost, a.Unique + a.Lost, a.Duplicates}
		switch {
		case a.OutOfOrder != nil:
			sum.received.outOfOrder = *a.OutOfOrder
		case r.Arrivals != nil:
			sum.received.outOfOrder += r.Reordered
		}
	}
	for i := range r.Flows {
		l, _ := receivedLines(&r.Flows[i])
		flows = append(flows, l)
	}
	return sum, flows
}

func sentIntervalLines(s *result.SenderInterval, iv *result.Interval) (sum line, flows []line) {
	sum = line{start: iv.StartS, end: iv.EndS}
	if s == nil {
		return sum, nil
	}
	sum.bytes = s.PayloadBytes
	if s.IntervalSent != nil {
		sum.packets = s.Packets
	}
	for i := range s.Flows {
		l, _ := sentIntervalLines(&s.Flows[i], iv)
		flows = append(flows, l)
	}
	return sum, flows
}

func receivedIntervalLines(r *result.ReceiverInterval, iv *result.Interval) (sum line, flows []line) {
	sum = line{start: iv.StartS, end: iv.EndS}
	if r == nil {
		return sum, nil
	}
	sum.bytes = r.PayloadBytes
	if c := r.IntervalArrived; c != nil {
		sum.packets = c.Packets
		sum.received = &received{c.JitterNS, c.Lost, c.Unique + c.Lost, c.Reordered + c.Duplicates}
	}
	for i := range r.Flows {
		l, _ := receivedIntervalLines(&r.Flows[i], iv)
		flows = append(flows, l)
	}
	return sum, flows
}

// lines prints a direction: its flows and, where they sent over UDP, how many
// datagrams left.
func (p *IPerf2) lines(b *strings.Builder, r *result.Report, d oneWay) {
	if p.o.CSV {
		for i := range d.lines {
			p.row(b, r, &d, &d.lines[i])
		}
		return
	}
	for i := range d.lines {
		l := &d.lines[i]
		p.line(b, p.id(r, l.stream, d.star), l)
		if d.whole && d.sent && p.o.UDP {
			fmt.Fprintf(b, "%s Sent %d datagrams\n", p.id(r, l.stream, false), l.packets)
		}
	}
}

// line prints what one flow had.
func (p *IPerf2) line(b *strings.Builder, id string, l *line) {
	seconds := l.end - l.start
	head, tail := headPlain, ""
	c := l.received
	switch {
	case c != nil:
		head = headJitter
		var jitter int64
		if c.jitterNS != nil {
			jitter = *c.jitterNS
		}
		tail = fmt.Sprintf("  %6.3f ms %d/%d (%s)", float64(jitter)/1e6, c.lost, c.total, iperf2Percent(c.lost, c.total))
		if p.o.Enhanced {
			head = headLatency
			tail += fmt.Sprintf(" -/-/-/- ms %.0f pps", perSecond(l.packets, seconds))
		}
	case p.o.UDP && p.o.Enhanced:
		head = headWrites
		tail = fmt.Sprintf("  %d/%d %8.0f pps", l.packets, l.refused, perSecond(l.packets, seconds))
	}
	p.heading(b, head)
	times := fmt.Sprintf("%4.4f-%4.4f", l.start, l.end)
	fmt.Fprintf(b, "%s %s sec  %s  %s%s\n", id, times, p.o.transfer(l.bytes), p.o.rate(l.bytes, seconds), tail)
	if c != nil && c.outOfOrder > 0 {
		fmt.Fprintf(b, "%s %s sec  %d datagrams received out-of-order\n", id, times, c.outOfOrder)
	}
}

func perSecond(n uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}
