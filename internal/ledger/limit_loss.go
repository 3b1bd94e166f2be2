package ledger

import (
	"fmt"

	"linerate/internal/result"
	"linerate/internal/units"
)

// stages are what a loss at a stage of the ledger says of the limit.
var stages = map[string]string{
	"sender_qdisc":     "sender_qdisc",
	"sender_nic":       "nic",
	"network":          "network",
	"receiver_nic":     "nic",
	"receiver_backlog": "receiver_cpu",
	"receiver_socket":  "receiver_buffer",
	"receiver_program": "receiver_ring",
}

// loss is the place that took so many packets that less arrived than was sent.
// What a filter refuses is no matter of rate.
func (t *Test) loss(l *result.Ledger) *result.Limit {
	if l == nil || t.Receiver == nil || t.Receiver.ArrivedPackets == nil {
		return nil
	}
	sent := t.Receiver.Unique + t.Receiver.Lost
	var worst *result.Stage
	for i, s := range l.Lost {
		if stages[s.Stage] != "" && (worst == nil || s.Packets > worst.Packets) {
			worst = &l.Lost[i]
		}
	}
	if worst == nil || float64(worst.Packets) < notable*float64(sent) || worst.Packets == 0 {
		return nil
	}
	lost := fmt.Sprintf("%d of %d packets (%s)", worst.Packets, sent, units.FormatPercent(float64(worst.Packets)/float64(sent)))
	switch by := stages[worst.Stage]; by {
	case "receiver_buffer", "receiver_ring":
		// A program that keeps up needs little room, so look at what it lacked.
		for _, e := range t.ends() {
			if by := e.throttled(); e.role == receiver && by != nil {
				return by
			}
		}
		if by == "receiver_buffer" && t.small() {
			return limit(by, "the receiver's buffer of %s holds less than %d ms of what came, and had no room for %s; %s",
				buffer(t.own()), slice.Milliseconds(), lost, t.room())
		}
		if core := t.atItsEnd(t.ReceiverHost); core != "" {
			return limit("receiver_cpu", "%s, and so the receiver lost %s for want of room", core, lost)
		}
		if by == "receiver_ring" {
			return limit(by, "the receiver's ring had no room for %s though its processor had time: it is too small for the bursts", lost)
		}
		return limit(by, "the receiver's buffer of %s had no room for %s though its processor had time: it is too small for the bursts; %s",
			buffer(t.own()), lost, t.room())
	case "network":
		return limit(by, "%s were lost between the hosts", lost)
	default:
		return limit(by, "%s were lost there: %s", lost, worst.Evidence)
	}
}
