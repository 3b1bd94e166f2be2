package ledger

import (
	"fmt"

	"linerate/internal/result"
	"linerate/internal/units"
)

// Shares from which on something counts as being at its end.
const (
	kept     = 0.98 // of the rate asked for: it was reached
	full     = 0.95 // of a link's or a shape's rate
	busy     = 0.90 // of a core
	notable  = 0.01 // of the packets: a loss that holds the rate back
	hindered = 0.05 // of the time
)

// Limit says what held the rate back, with what Settle says of the same test; nil
// if that is not known. Of several it is the one nearest to the packets: what took
// them, then what kept the sender.
func Limit(t Test, l *result.Ledger) *result.Limit {
	if by := t.loss(l); by != nil {
		return by
	}
	rules := []func(*Test) *result.Limit{(*Test).rate, (*Test).quota, (*Test).link}
	if t.Config.Protocol == "tcp" {
		rules = append(rules, (*Test).pace, (*Test).window, (*Test).senderCore, (*Test).receiverCore, (*Test).congestion)
	} else {
		rules = append(rules, (*Test).queue, (*Test).senderCore, (*Test).device, (*Test).pacing, (*Test).receiverCore)
	}
	for _, rule := range rules {
		if l := rule(&t); l != nil {
			return l
		}
	}
	return nil
}

func limit(by, why string, args ...any) *result.Limit {
	return &result.Limit{By: by, Why: fmt.Sprintf(why, args...)}
}

// percent prints a share as whole percent: none of those here is better known.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// rate is what was asked for, and was reached: by the sender, or by what arrived
// where the sender is unknown.
func (t *Test) rate() *result.Limit {
	got := t.achieved()
	asked, reached := t.asked(got)
	if asked == "" || !reached {
		return nil
	}
	why := "the rate asked for (" + asked + ")"
	if core, of := t.busiest(); core != nil {
		what, _ := most(core)
		why += fmt.Sprintf("; the %s's busiest core was at %s, %s on core %d", of, percent(1-core.Idle), what, core.Core)
	}
	return limit("rate", "%s", why)
}

// achieved is the rate of the sender, else of what came; nil if unknown.
func (t *Test) achieved() *result.Rate {
	switch {
	case t.Sender != nil && t.Sender.Rate != nil:
		return t.Sender.Rate
	case t.Receiver != nil:
		return t.Receiver.Rate
	}
	return nil
}

// asked is the rate asked for in words, empty for none, and whether it was reached.
func (t *Test) asked(got *result.Rate) (words string, reached bool) {
	if got == nil {
		got = &result.Rate{}
	}
	switch c := t.Config; {
	case c.Isochronous != nil:
		return units.FormatBits(c.Isochronous.MeanBps) + " in bursts", t.Sender != nil && t.Sender.SentPacing != nil && t.Sender.Shortfall == 0
	case c.RateBps > 0:
		return units.FormatBits(c.RateBps), t.reached(at(got, c.Layer) / c.RateBps)
	case c.RatePps > 0:
		return units.FormatPackets(c.RatePps), t.reached(got.PPS / c.RatePps)
	}
	return "", false
}

// reached is whether such a share of the rate asked for is all of it: nearly, or by
// a sender that gave up no packet and ended no later than one may that repays a
// stall.
func (t *Test) reached(share float64) bool {
	const debt = 0.1 // seconds; of gen/pace
	if s := t.Sender; s != nil && s.SentPacing != nil && s.Shortfall == 0 && s.Seconds*(1-share) <= debt {
		return true
	}
	return share >= kept
}

// at is a rate at the layer of that name; at L4 where it is none's.
func at(r *result.Rate, layer string) float64 {
	l, _ := units.ParseLayer(layer)
	return l.Of(r.L1Bps, r.L2Bps, r.L3Bps, r.L4Bps)
}

// quota is a control group's limit that stopped either end.
func (t *Test) quota() *result.Limit {
	for _, e := range t.ends() {
		if l := e.throttled(); l != nil {
			return l
		}
	}
	return nil
}

// throttled is a control group's limit that stopped an end.
func (e end) throttled() *result.Limit {
	q := e.host.Quota
	if q == nil || e.seconds == 0 || q.ThrottledS < hindered*e.seconds {
		return nil
	}
	return limit("cpu_quota", "a control group allows the %s %.2f cores and held it for %.1f s of %.1f s (%d times); raise its cpu.max",
		e.role, q.Cores, q.ThrottledS, e.seconds, q.ThrottledPeriods)
}

// link is an interface that was as busy as it can be.
func (t *Test) link() *result.Limit {
	got := t.achieved()
	for _, end := range t.ends() {
		n := end.host.NIC
		if n == nil || n.SpeedBps == 0 || got == nil {
			continue
		}
		speed, used := float64(n.SpeedBps), got.L1Bps
		if used == 0 { // TCP: what no frame can go without is left out
			used = got.L4Bps
		}
		if used < full*speed {
			continue
		}
		most := ""
		if t.Config.FrameBytes > 0 {
			pps := speed / float64(8*(t.Config.FrameBytes+units.WireBytes))
			most = fmt.Sprintf(", which carries %s of %d bytes at most", units.FormatPackets(pps), t.Config.FrameBytes)
		}
		return limit("link", "%s of the %s runs at %s%s; the test used %s of it",
			n.Interface, end.role, units.FormatBits(speed), most, percent(used/speed))
	}
	return nil
}

// An end is one side of the test whose host is known.
type end struct {
	role    string
	host    *result.Host
	seconds float64 // that it was at work; 0 if unknown
}

func (t *Test) ends() []end {
	var all []end
	if t.SenderHost != nil {
		e := end{role: sender, host: t.SenderHost}
		if t.Sender != nil {
			e.seconds = t.Sender.Seconds
		}
		all = append(all, e)
	}
	if t.ReceiverHost != nil {
		e := end{role: receiver, host: t.ReceiverHost}
		if t.Receiver != nil {
			e.seconds = t.Receiver.Seconds
		}
		all = append(all, e)
	}
	return all
}
