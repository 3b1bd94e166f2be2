package ledger

import (
	"fmt"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
)

// Disturbances are what made the run no clean one, a sentence each with its
// evidence: other traffic, flow control, clocks, settings that contradict each
// other, cores that were slowed or taken away, and what a receiver's kernel dropped
// where nothing arrived, so that no loss is known to settle.
func Disturbances(t Test) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if n, of := t.strangers(sender, "tx_packets"); n > 0 {
		say("%d of %d frames that left %s of the sender were not of this test", n, of, device(t.SenderHost))
	}
	if n, of := t.strangers(receiver, "rx_packets"); n > 0 {
		say("%d of %d frames that came to %s of the receiver were not of this test", n, of, device(t.ReceiverHost))
	}
	if r := t.Receiver; r != nil && r.ArrivedPackets != nil && r.Packets == 0 && r.LossIsLowerBound {
		if n, evidence, advice, _ := dropped(t.ReceiverHost, receiver, inFilter); n > 0 {
			say("nothing arrived, but packets to the port were %s: %s", evidence, advice)
		}
	}
	for _, e := range t.ends() {
		all = append(all, e.disturbances()...)
	}
	if s, r := link(t.SenderHost), link(t.ReceiverHost); s != nil && r != nil {
		if s.MTU != r.MTU {
			say("the MTU is %d on %s of the sender and %d on %s of the receiver", s.MTU, s.Interface, r.MTU, r.Interface)
		}
		if s.SpeedBps != 0 && r.SpeedBps != 0 && s.SpeedBps != r.SpeedBps {
			say("%s of the sender runs at %s and %s of the receiver at %s",
				s.Interface, units.FormatBits(float64(s.SpeedBps)), r.Interface, units.FormatBits(float64(r.SpeedBps)))
		}
	}
	return all
}

func link(h *result.Host) *result.NIC {
	if h == nil {
		return nil
	}
	return h.NIC
}

func (t *Test) loopback() bool {
	s, r := link(t.SenderHost), link(t.ReceiverHost)
	return s != nil && s.Interface == "lo" || r != nil && r.Interface == "lo"
}

// strangers are the frames that passed an end's interface and can't be of this
// test, if they are enough to disturb it; 0 if that is unknown.
func (t *Test) strangers(role, counter string) (n, of uint64) {
	var ours uint64
	c := nic(t.SenderHost, role)
	switch {
	case t.super() > 1: // frames are no measure of packets
		return 0, 0
	case t.Config != nil && t.Config.OmitS > 0: // what is left out passed there, too
		return 0, 0
	case t.loopback(): // all that a host says to itself passes there
		return 0, 0
	case role == sender:
		if t.Sender == nil || t.Sender.SentPackets == nil {
			return 0, 0
		}
		ours = t.Sender.Packets + net(t.SenderHost, role).sum(t.ip("FragCreates"))
	default:
		if t.Receiver == nil || t.Receiver.ArrivedPackets == nil || t.merged() {
			return 0, 0
		}
		c = nic(t.ReceiverHost, role)
		ours = t.Receiver.Packets + t.Receiver.Lost + net(t.ReceiverHost, role).sum(t.ip("ReasmReqds"))
	}
	of, _ = c.rise(counter)
	if n = less(of, ours+t.Probes); n <= housekeeping || float64(n) < notable*float64(of) {
		return 0, 0
	}
	return n, of
}

// disturbances are those of one end.
func (e end) disturbances() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	counters := nic(e.host, e.role)
	if n := counters.sum("ethtool_pause_rx", "ethtool_pause_tx"); n > 0 {
		say("Ethernet flow control paused the link: %s", counters.evidence("ethtool_pause_rx", "ethtool_pause_tx"))
	}
	if n := e.host.NIC; n != nil {
		if n.HalfDuplex {
			say("%s of the %s runs at half duplex: ethtool -s %s autoneg on", n.Interface, e.role, n.Interface)
		}
		if n.SpeedEndBps != 0 {
			say("%s of the %s changed its speed from %s to %s during the test: ethtool %s", n.Interface, e.role,
				units.FormatBits(float64(n.SpeedBps)), units.FormatBits(float64(n.SpeedEndBps)), n.Interface)
		}
		if n.LRO {
			say("%s of the %s merges packets (LRO), and counts come out short: ethtool -K %s lro off", n.Interface, e.role, n.Interface)
		}
	}
	if step := e.host.ClockStepNS; step != nil {
		say("the wall clock of the %s was set by %v during the test", e.role, time.Duration(*step))
	}
	if q := e.host.Quota; q != nil && q.ThrottledPeriods > 0 {
		say("a control group held the %s %d times, for %.2f s in all", e.role, q.ThrottledPeriods, q.ThrottledS)
	}
	if cpu := e.host.CPU; cpu != nil {
		if cpu.ThermalThrottles != nil && *cpu.ThermalThrottles > 0 {
			say("the cores of the %s were slowed %d times for their heat", e.role, *cpu.ThermalThrottles)
		}
		for _, core := range cpu.Cores {
			if core.Steal >= hindered && e.seconds >= 1 { // in less, a tick is much
				say("the hypervisor took core %d of the %s away for %s of the time", core.Core, e.role, percent(core.Steal))
			}
		}
	}
	return all
}
