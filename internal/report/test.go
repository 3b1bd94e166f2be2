package report

import (
	"fmt"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// coordinated reports whether both ends' numbers may stand in a report.
func coordinated(r *result.Report) bool {
	return r.Config != nil && r.Config.Peer != "" && r.Config.Peer != "none"
}

// directions prints the outcome of a coordinated test: a line each direction, and
// what else is known of it.
func (o Options) directions(b *strings.Builder, r *result.Report) {
	first := "forward"
	if r.Config.Direction == "reverse" {
		first = "reverse"
	}
	all := []direction{{first, result.Direction{Sender: r.Sender, Receiver: r.Receiver, Ledger: r.Ledger}}}
	if r.Reverse != nil {
		all = append(all, direction{"reverse", *r.Reverse})
	}
	if r.Config.Protocol == "tcp" {
		o.tcpTable(b, all)
		for _, d := range all {
			o.shortfall(b, r.Config, d)
			o.damage(b, d)
		}
		return
	}
	o.udpTable(b, all)
	for _, d := range all {
		if d.Receiver != nil && d.Receiver.ArrivedPackets != nil {
			if parts := nonEmpty(append(order(d.Receiver), jitter(d.Receiver), o.ipdv(d.Receiver), delay(d.Receiver))...); len(parts) > 0 {
				o.line(b, " · ", append([]string{d.name}, parts...)...)
			}
			delayHistogram(b, d.name+" delay", d.Receiver)
		}
		if d.Sender != nil && d.Sender.SentPacing != nil {
			if parts := nonEmpty(o.pacing(r.Config, d.Sender)...); len(parts) > 0 {
				o.line(b, " · ", append([]string{d.name}, parts...)...)
			}
		}
		if d.Receiver != nil && o.Verbose {
			o.flows(b, d.Receiver.Flows)
		}
	}
}

// direction is one direction of a test by its name.
type direction struct {
	name string
	result.Direction
}

func (o Options) udpTable(b *strings.Builder, all []direction) {
	rates := make([]*float64, 0, 2*len(all))
	for _, d := range all {
		rates = append(rates, rateAt(d.Receiver, "l4"), rateAt(d.Receiver, "l1"))
	}
	unit, cells := oneUnit(rates, units.BitUnit)
	t := table{
		heads: []string{"", "sent", "arrived", "lost", "", unit + " L4", unit + " L1"},
		left:  []bool{true, false, false, false, true, false, false},
	}
	for i, d := range all {
		row := []string{d.name, "-", "-", "-", "", cells[2*i], cells[2*i+1]}
		if d.Sender != nil && d.Sender.SentPackets != nil {
			row[1] = number(d.Sender.Packets)
		}
		if r := d.Receiver; r != nil && r.ArrivedPackets != nil {
			row[2], row[3] = number(r.Unique), number(r.Lost)
			if r.LossIsLowerBound {
				row[3] = "≥ " + row[3]
			}
			if r.Lost > 0 {
				row[3] = o.paint(red, row[3])
			}
			if r.LossRatio != nil && r.Lost > 0 {
				row[4] = "(" + units.FormatPercent(*r.LossRatio) + ")"
			}
		}
		t.rows = append(t.rows, row)
	}
	t.write(b)
}

func rateAt(r *result.Receiver, layer string) *float64 {
	if r == nil || r.Rate == nil {
		return nil
	}
	v := at(r.Rate, layer)
	if v == 0 {
		return nil
	}
	return &v
}

// order says what came twice or out of turn.
func order(r *result.Receiver) []string {
	var parts []string
	if r.Arrivals == nil {
		if r.Duplicates > 0 {
			parts = append(parts, fmt.Sprintf("at least %d duplicate", r.Duplicates))
		}
		if r.OutOfOrder != nil {
			parts = append(parts, fmt.Sprintf("%d out of order, duplicates among them", *r.OutOfOrder))
		}
		return parts
	}
	parts = append(parts, fmt.Sprintf("%d duplicate", r.Duplicates), fmt.Sprintf("%d reordered", r.Reordered))
	if r.Gaps > 0 && r.LossBurst != nil {
		parts = append(parts, fmt.Sprintf("lost in %s, longest %d in a row", count(r.Gaps, "gap"), r.LossBurst.Max))
	}
	return append(parts, strays(r)...)
}

// pacing says how exactly packets left.
func (o Options) pacing(c *result.Config, s *result.Sender) []string {
	var parts []string
	if s.RateErrorPPM != nil {
		parts = append(parts, "rate "+units.FormatPPM(*s.RateErrorPPM))
	}
	parts = append(parts, bursts(s), o.gaps(&s.Cadence))
	if s.Shortfall != 0 {
		parts = append(parts, achieved(c, s.Rate), o.paint(yellow, were(s.Shortfall)+" given up"))
	}
	if s.LatePackets != 0 {
		parts = append(parts, count(s.LatePackets, "packet")+" left late")
	}
	return parts
}

// shortfall says what of a rate over TCP was given up.
func (o Options) shortfall(b *strings.Builder, c *result.Config, d direction) {
	if s := d.Sender; s != nil && s.SentTCP != nil && s.ShortfallBytes != nil && *s.ShortfallBytes > 0 {
		o.line(b, " · ", nonEmpty(d.name, achieved(c, s.Rate), o.paint(yellow, units.FormatBytes(*s.ShortfallBytes)+" given up"))...)
	}
}

// damage says how much came over TCP that was not what was sent, where that was checked.
func (o Options) damage(b *strings.Builder, d direction) {
	if d.Receiver == nil || d.Receiver.CorruptBytes == nil {
		return
	}
	said := count(*d.Receiver.CorruptBytes, "byte") + " came damaged"
	if *d.Receiver.CorruptBytes > 0 {
		said = o.paint(red, said)
	}
	o.line(b, " · ", d.name, said)
}

// tcpTable has in place of loss what TCP did about it.
func (o Options) tcpTable(b *strings.Builder, all []direction) {
	var rates []*float64
	for _, d := range all {
		rates = append(rates, rateAt(d.Receiver, "l4"))
	}
	unit, cells := oneUnit(rates, units.BitUnit)
	t := table{
		heads: []string{"", "sent", "arrived", unit, "retransmits", "rtt"},
		left:  []bool{true, false, false, false, false, false},
	}
	for i, d := range all {
		row := []string{d.name, "-", "-", cells[i], "-", "-"}
		if d.Sender != nil {
			row[1] = units.FormatBytes(d.Sender.PayloadBytes)
			if s := d.Sender.SentTCP; s != nil {
				if s.Retransmits != nil {
					row[4] = number(*s.Retransmits)
				}
				if s.RTTNS != nil {
					row[5] = units.FormatNS(s.RTTNS.Mean)
				}
			}
		}
		if d.Receiver != nil {
			row[2] = units.FormatBytes(d.Receiver.PayloadBytes)
		}
		t.rows = append(t.rows, row)
	}
	t.write(b)
}
