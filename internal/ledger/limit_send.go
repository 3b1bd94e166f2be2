package ledger

import (
	"fmt"

	"linerate/internal/result"
	"linerate/internal/units"
)

// queue is a qdisc or shaper that made the sender wait: something waits in it
// still, or it refused what came too soon.
func (t *Test) queue() *result.Limit {
	link := nic(t.SenderHost, sender)
	over, drops := link.sum("qdisc_overlimits"), link.sum("qdisc_drops")
	if t.Sender == nil || t.Sender.SentPackets == nil || over+drops == 0 {
		return nil
	}
	sent := float64(max(t.Sender.Packets, 1))
	if float64(over) < hindered*sent && float64(drops) < notable*sent {
		return nil
	}
	passed := ""
	if t.Sender.Rate != nil {
		passed = ", and let " + units.FormatBits(t.Sender.Rate.L2Bps) + " L2 pass"
	}
	return limit("sender_qdisc", "the %s qdisc of %s held packets back %d times and dropped %d%s (tc -s qdisc show dev %s)",
		t.SenderHost.NIC.Qdisc, t.SenderHost.NIC.Interface, over, drops, passed, t.SenderHost.NIC.Interface)
}

// device is one that had no room for packets while the sender had time.
func (t *Test) device() *result.Limit {
	s := t.Sender
	if s == nil || s.SentPacing == nil || s.SentPackets == nil || s.Refused == 0 || float64(s.Refused) < notable*float64(s.Packets) {
		return nil
	}
	if allowance := nic(t.SenderHost, sender).evidence("ethtool_allowance_pps", "ethtool_allowance_out"); allowance != "" {
		return limit("nic", "the cloud's allowance for this machine was used up: %s", allowance)
	}
	return limit("nic", "%s had no room for a packet %d times: it sends no faster", device(t.SenderHost), s.Refused)
}

// pacing is a schedule that the sender could not keep though nothing else held it.
func (t *Test) pacing() *result.Limit {
	asked, _ := t.asked(t.achieved())
	if asked == "" || t.Sender == nil || t.Sender.SentPacing == nil || t.Sender.Shortfall+t.Sender.LatePackets == 0 {
		return nil
	}
	why := fmt.Sprintf("the sender was not always running: %d packets of %s were given up, %d left late", t.Sender.Shortfall, asked, t.Sender.LatePackets)
	if by := t.crowded(t.SenderHost); by != "" {
		why += "; " + by
	}
	return limit("pacing", "%s", why)
}
