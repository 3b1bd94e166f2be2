package report

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/result"
	"linerate/internal/units"
)

// summary prints the outcome of a test, the verdict last.
func (o Options) summary(b *strings.Builder, r *result.Report) {
	switch {
	case r.ConnectNS != nil:
		o.connects(b, r.ConnectNS)
		return
	case r.BounceNS != nil && r.Sender == nil && r.Receiver == nil:
		o.bounces(b, r.BounceNS)
		return
	}
	if coordinated(r) || r.Config != nil && r.Config.Protocol == "tcp" {
		o.directions(b, r)
	} else {
		if r.Sender != nil {
			o.sent(b, r.Config, r.Sender)
		}
		if r.Receiver != nil {
			o.received(b, r.Receiver)
			o.flows(b, r.Receiver.Flows)
		}
	}
	o.roundTrips(b, r.RTTNS)
	if r.BounceNS != nil {
		o.bounces(b, r.BounceNS)
	}
	if r.Reverse != nil {
		o.ledger(b, "forward: ", r.Ledger, r.Hosts)
		o.ledger(b, "reverse: ", r.Reverse.Ledger, r.Hosts)
	} else {
		o.ledger(b, "", r.Ledger, r.Hosts)
	}
	if r.Limit != nil {
		o.line(b, "", "limited by "+limit(r.Limit))
	}
	o.cpu(b, r.Hosts)
	if r.Reverse != nil {
		o.verdict(b, r.Receiver, r.Reverse.Receiver)
	} else {
		o.verdict(b, r.Receiver)
	}
	serverOutput(b, r)
}

// serverOutput adds the server's own report.
func serverOutput(b *strings.Builder, r *result.Report) {
	own := r.ServerText
	if r.ServerJSON != nil {
		own = string(r.ServerJSON)
	}
	if own != "" {
		fmt.Fprintf(b, "\nServer output:\n%s\n", strings.TrimRight(own, "\n"))
	}
}

// sent prints what left, and every way in which it was not what was asked for.
func (o Options) sent(b *strings.Builder, c *result.Config, s *result.Sender) {
	rate := ""
	switch {
	case s.RateErrorPPM != nil:
		rate = "rate " + units.FormatPPM(*s.RateErrorPPM)
	case s.Rate != nil:
		rate = units.FormatBits(s.Rate.L4Bps) + " L4, " + units.FormatPackets(s.Rate.PPS)
	}
	o.line(b, ", ", nonEmpty(
		fmt.Sprintf("sent %s, %s payload in %.3f s", count(s.Packets, "packet"), units.FormatBytes(s.PayloadBytes), s.Seconds),
		rate, bursts(s), o.gaps(&s.Cadence),
	)...)
	o.windows(b, &s.Cadence)
	if s.SuperPackets != 0 {
		o.line(b, "", fmt.Sprintf("super-frames of up to %s, which the kernel or the device took apart (GSO)", count(uint64(s.SuperPackets), "packet")))
	}
	if s.Shortfall != 0 {
		o.line(b, ": ", nonEmpty(achieved(c, s.Rate), o.paint(yellow, were(s.Shortfall)+" given up"))...)
	}
	if s.Refused != 0 {
		o.line(b, "", "the kernel refused a packet "+count(s.Refused, "time")+" (its queue was full)")
	}
	if s.LatePackets != 0 {
		o.line(b, "", count(s.LatePackets, "packet")+" left late")
	}
}

// A quantile is a named value of a distribution in ns.
type quantile struct {
	name string
	ns   int64
}

// percentiles prints quantiles beside a median, and leaves out their unit where
// it is the median's.
func percentiles(median int64, qs []quantile) string {
	_, unit, _ := strings.Cut(units.FormatNS(median), " ")
	var parts []string
	for _, q := range qs {
		parts = append(parts, q.name+" "+strings.TrimSuffix(units.FormatNS(q.ns), " "+unit))
	}
	return strings.Join(parts, ", ")
}

// achieved sets the rate that was reached beside the one that was asked for.
func achieved(c *result.Config, rate *result.Rate) string {
	switch {
	case c == nil || rate == nil:
		return ""
	case c.RateBps != 0:
		return "asked " + asked(c) + ", achieved " + units.FormatBits(at(rate, c.Layer))
	case c.RatePps != 0:
		return "asked " + asked(c) + ", achieved " + units.FormatPackets(rate.PPS)
	}
	return ""
}

// received prints what arrived.
func (o Options) received(b *strings.Builder, r *result.Receiver) {
	if r.Packets == 0 && r.Lost == 0 && r.LossIsLowerBound {
		o.line(b, " · ", append([]string{o.paint(red, "nothing arrived, and no sender's count came")}, strays(r)...)...)
		return
	}
	parts := []string{o.loss(r)}
	if r.Packets != 0 {
		reordered := fmt.Sprintf("%d reordered", r.Reordered)
		if r.ReorderExtentMax != 0 {
			reordered += fmt.Sprintf(" (extent up to %d)", r.ReorderExtentMax)
		}
		parts = append(parts, fmt.Sprintf("%d duplicate", r.Duplicates), reordered)
	}
	o.line(b, " · ", append(parts, strays(r)...)...)
	if r.Rate != nil && r.Packets != 0 {
		o.line(b, " · ",
			"rate "+units.FormatBits(r.Rate.L4Bps)+" L4", units.FormatBits(r.Rate.L1Bps)+" L1", units.FormatPackets(r.Rate.PPS),
			fmt.Sprintf("%s payload in %.3f s", units.FormatBytes(r.UniquePayloadBytes), r.Seconds))
	}
	if r.MergedFrames != 0 {
		o.line(b, "", fmt.Sprintf("%s came merged in %s (GSO or GRO) and were counted one by one", count(r.MergedPackets, "packet"), count(r.MergedFrames, "super-frame")))
	}
	if r.Reflected != nil {
		o.line(b, "", count(*r.Reflected, "probe")+" sent back")
	}
	if parts := nonEmpty(jitter(r), o.ipdv(r), delay(r)); len(parts) != 0 {
		o.line(b, " · ", parts...)
	}
	delayHistogram(b, "delay", r)
	if gaps := o.gaps(&r.Cadence); gaps != "" && o.Verbose {
		o.line(b, "", "arrival "+gaps)
	}
	o.windows(b, &r.Cadence)
}

// loss counts what arrived against what was sent. Without the sender's count
// loss is what the numbers in between show: at least.
func (o Options) loss(r *result.Receiver) string {
	bound := ""
	if r.LossIsLowerBound {
		bound = "at least "
	}
	if r.Lost == 0 && r.LossIsLowerBound {
		return "received " + count(r.Unique, "packet")
	}
	s := fmt.Sprintf("received %d of %s%s", r.Unique, bound, count(r.Unique+r.Lost, "packet"))
	if r.Lost == 0 {
		return s
	}
	lost := "lost " + bound + number(r.Lost)
	if r.LossRatio != nil {
		lost += " (" + units.FormatPercent(*r.LossRatio) + ")"
	}
	s += ": " + o.paint(red, lost)
	if r.Gaps != 0 {
		s += " in " + count(r.Gaps, "gap")
	}
	if r.LossBurst != nil {
		s += fmt.Sprintf(", longest %d in a row", r.LossBurst.Max)
	}
	return s
}

// strays counts what came too late, was not ours, or came damaged.
func strays(r *result.Receiver) []string {
	var parts []string
	if r.BeyondWindow != 0 {
		parts = append(parts, fmt.Sprintf("%d beyond the window", r.BeyondWindow))
	}
	if r.Foreign != 0 {
		parts = append(parts, fmt.Sprintf("%d foreign", r.Foreign))
	}
	if r.Corrupt != nil {
		parts = append(parts, fmt.Sprintf("%d corrupt", *r.Corrupt))
	}
	return parts
}

func jitter(r *result.Receiver) string {
	if r.JitterNS == nil {
		return ""
	}
	return "jitter " + units.FormatNS(*r.JitterNS)
}

func (o Options) ipdv(r *result.Receiver) string {
	if r.Arrivals == nil || r.IPDVNS == nil || !o.Verbose {
		return ""
	}
	return fmt.Sprintf("delay variation p50 %s, p99 %s, max %s",
		units.FormatNS(r.IPDVNS.P50), units.FormatNS(r.IPDVNS.P99), units.FormatNS(r.IPDVNS.Max))
}

func delay(r *result.Receiver) string {
	if r.Arrivals == nil || r.DelayNS == nil {
		return ""
	}
	d := r.DelayNS
	clock := d.Clock + " clock"
	switch d.Clock {
	case "synchronised":
		clock = "synchronised clocks"
		if d.ErrorBoundNS != nil {
			clock += ", ±" + units.FormatNS(*d.ErrorBoundNS)
		}
	case "relative":
		clock = "above the smallest"
	}
	return fmt.Sprintf("delay p50 %s, p99 %s, max %s (%s)",
		units.FormatNS(d.P50), units.FormatNS(d.P99), units.FormatNS(d.Max), clock)
}

// cpu prints what each end's processor did, in percent of one core.
func (o Options) cpu(b *strings.Builder, hosts []result.Host) {
	var parts []string
	for _, h := range hosts {
		if h.CPU == nil {
			continue
		}
		detail := fmt.Sprintf("user %s, system %s", cores(h.CPU.User), cores(h.CPU.System))
		if h.CPU.Softirq != nil && o.Verbose {
			detail += ", softirq " + cores(*h.CPU.Softirq)
		}
		if h.CPU.BusiestCore != nil && o.Verbose {
			detail += ", busiest core " + cores(*h.CPU.BusiestCore)
		}
		if h.CPU.Steal != nil && o.Verbose {
			detail += ", stolen " + cores(*h.CPU.Steal)
		}
		if h.CPU.InvoluntarySwitches != nil && o.Verbose {
			detail += ", taken off a processor " + count(uint64(*h.CPU.InvoluntarySwitches), "time")
		}
		parts = append(parts, fmt.Sprintf("%s %s %% of a core (%s)", h.Role, cores(h.CPU.Process), detail))
	}
	if len(parts) != 0 {
		o.line(b, ", ", append([]string{"cpu        " + parts[0]}, parts[1:]...)...)
	}
}

// cores prints a share of one core in whole percent.
func cores(v float64) string { return strconv.FormatFloat(v*100, 'f', 0, 64) }

// verdict says in one line whether anything was lost in any direction, as far as that is
// known and has not been said.
func (o Options) verdict(b *strings.Builder, all ...*result.Receiver) {
	said := o.paint(green, "nothing was lost")
	for _, r := range all {
		switch {
		case r == nil || r.ArrivedPackets == nil || r.Lost != 0 || r.Packets == 0:
			return
		case r.LossIsLowerBound && r.OutOfOrder != nil:
			said = o.paint(yellow, "the server tells of no loss; each packet out of order may hide one")
		case r.LossIsLowerBound:
			said = o.paint(yellow, "no gap was seen; what was lost at the end is unknown, as no sender's count came")
		case r.Arrivals != nil && r.Corrupt != nil && *r.Corrupt != 0:
			said = o.paint(red, "nothing was lost, but "+count(*r.Corrupt, "packet")+" came damaged")
		}
	}
	o.line(b, "", said)
}

// limit says what held the rate. That of a rate asked for needs no name.
func limit(l *result.Limit) string {
	if l.By == "rate" {
		return l.Why
	}
	return words(l.By) + ": " + l.Why
}

// words turns a name of the schema into words: receiver_socket, receiver socket.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }
