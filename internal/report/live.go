package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// A column of a live table is set to the right: its cells end at the column's
// last place, whatever stands before them.
type column struct {
	head string
	ends int
}

// The live tables. %s stands for the unit of the rates.
var (
	sendColumns = []column{{"time", 6}, {"packets", 18}, {"%s L4", 30}, {"%s L1", 42}, {"late", 49}}
	tcpColumns  = []column{{"time", 6}, {"MB", 16}, {"%s", 28}, {"retr", 36}, {"cwnd", 48}, {"rtt", 59}}
	recvColumns = []column{{"time", 6}, {"packets", 18}, {"%s L4", 30}, {"lost", 39}, {"dup", 46}, {"reord", 54}, {"jitter", 63}}
)

// A scale is the unit of the rates of the live table; it is chosen once, and
// again only where a rate does not fit.
type scale struct {
	unit     string // empty before the head is printed
	divisor  float64
	decimals int
	measured bool // chosen from a rate and not for want of one
}

// liveDigits is how many digits show the largest rate of a live table.
const liveDigits = 5

// fits says whether a rate can stand in the column. A unit that was guessed must
// also be the rate's own.
func (s *scale) fits(bps float64) bool {
	v := bps / s.divisor
	return bps == 0 || v < 10_000 && (s.measured || v >= 1)
}

// instant is when an interval ended, to the hundredth of a second, and of a shorter
// interval as much finer as tells it from the one before.
func instant(iv *result.Interval) string {
	parts := 100.0
	for length := iv.EndS - iv.StartS; length > 0 && length*parts < 1 && parts < 1e6; {
		parts *= 10
	}
	return strconv.FormatFloat(math.Round(iv.EndS*parts)/parts, 'f', -1, 64) + " s"
}

func (t *Text) interval(b *strings.Builder, c *result.Config, iv *result.Interval) {
	time := instant(iv)
	if iv.Omitted {
		time = "(" + time + ")"
	}
	if v := iv.Reverse; v != nil {
		defer t.reverse(b, c, iv)
	}
	switch s, r := iv.Sender, iv.Receiver; {
	case c != nil && c.Protocol == "tcp":
		t.tcpInterval(b, c, time, s, r)
	case r != nil && r.IntervalArrived == nil, s != nil && s.IntervalSent == nil: // of neither protocol
	case r != nil:
		t.rescale(b, recvColumns, c, r.Rate)
		lost := number(r.Lost)
		if r.Lost != 0 {
			lost = t.o.paint(red, lost)
		}
		row(b, recvColumns, time, number(r.Packets), t.rate(r.Rate, "l4"), lost,
			number(r.Duplicates), number(r.Reordered), nanoseconds(r.JitterNS))
	case s != nil && c != nil && c.Peer == "linerate": // the receiver told nothing of this one
		t.rescale(b, recvColumns, c, s.Rate)
		row(b, recvColumns, time, number(s.Packets), t.rate(s.Rate, "l4"), "-", "-", "-", "-")
	case s != nil:
		t.rescale(b, sendColumns, c, s.Rate)
		row(b, sendColumns, time, number(s.Packets), t.rate(s.Rate, "l4"), t.rate(s.Rate, "l1"), number(s.LatePackets))
	}
	if t.o.Verbose {
		for i := range iv.Hosts {
			t.o.host(b, &iv.Hosts[i])
		}
	}
}

// reverse prints a line of the second direction of --bidir.
func (t *Text) reverse(b *strings.Builder, c *result.Config, iv *result.Interval) {
	second := result.Interval{StartS: iv.StartS, EndS: iv.EndS, Omitted: iv.Omitted, Sender: iv.Reverse.Sender, Receiver: iv.Reverse.Receiver}
	var line strings.Builder
	t.interval(&line, c, &second)
	text := strings.TrimSuffix(line.String(), "\n")
	b.WriteString(text + "  back\n")
}

// tcpInterval prints a line of a test over TCP: what came, or else what left, and
// what TCP did where this end sends.
func (t *Text) tcpInterval(b *strings.Builder, c *result.Config, time string, s *result.SenderInterval, r *result.ReceiverInterval) {
	var bytes uint64
	var rate *result.Rate
	retransmits, cwnd, rtt := "-", "-", "-"
	if s != nil {
		bytes, rate = s.PayloadBytes, s.Rate
		if s.IntervalTCP != nil {
			if s.Retransmits != nil {
				retransmits = number(*s.Retransmits)
			}
			if s.CwndBytes != nil {
				cwnd = units.FormatSize(int64(*s.CwndBytes))
			}
			rtt = nanoseconds(s.RTTNS)
		}
	}
	if r != nil {
		bytes, rate = r.PayloadBytes, r.Rate
	}
	t.rescale(b, tcpColumns, c, rate)
	row(b, tcpColumns, time, fmt.Sprintf("%.2f", float64(bytes)/1e6), t.rate(rate, "l4"), retransmits, cwnd, rtt)
}

// rescale prints the head if there is none yet, or if the rate does not fit the
// unit that it names.
func (t *Text) rescale(b *strings.Builder, table []column, c *result.Config, rate *result.Rate) {
	var bps float64
	if rate != nil {
		bps = max(rate.L1Bps, rate.L4Bps)
	}
	if t.scale.unit != "" && t.scale.fits(bps) {
		t.scale.measured = t.scale.measured || bps > 0
		return
	}
	if c != nil {
		bps = max(bps, c.RateBps)
	}
	// Before the first packet nothing is known; most links are of this order.
	like := bps
	if bps == 0 {
		like = 100e6
	}
	unit, divisor := units.BitUnit(like)
	t.scale = scale{unit, divisor, units.Decimals(like/divisor, liveDigits), bps > 0}
	heads := make([]string, len(table))
	for i, column := range table {
		heads[i] = strings.Replace(column.head, "%s", unit, 1)
	}
	row(b, table, heads...)
}

// rate prints a rate of one layer in the unit of the table.
func (t *Text) rate(r *result.Rate, layer string) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", t.scale.decimals, at(r, layer)/t.scale.divisor)
}

// at is a rate at the layer of that name; at L4 where it is none's.
func at(r *result.Rate, layer string) float64 {
	l, _ := units.ParseLayer(layer)
	return l.Of(r.L1Bps, r.L2Bps, r.L3Bps, r.L4Bps)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// nanoseconds prints a time, and - where it is unknown.
func nanoseconds(ns *int64) string {
	if ns == nil {
		return "-"
	}
	return units.FormatNS(*ns)
}

// row prints one line of a live table. A cell that is too wide takes the room of
// the next.
func row(b *strings.Builder, table []column, cells ...string) {
	at := 0
	for i, cell := range cells {
		w := columns(cell)
		gap := max(table[i].ends-at-w, min(i, 1))
		b.WriteString(strings.Repeat(" ", gap) + cell)
		at += gap + w
	}
	b.WriteByte('\n')
}
