package ledger

import (
	"fmt"

	"linerate/internal/result"
)

// The two ends, as the report names them.
const (
	sender   = "sender"
	receiver = "receiver"
)

// sent is what the sender sent, as far as that is known.
func (a *Account) sent() uint64 {
	if a.Sent != nil {
		return *a.Sent
	}
	return a.Arrived + a.Lost
}

// told takes off what the sender was told of: a raw path's refused frames.
func (a *Account) told(n uint64) uint64 {
	if a.Sender.Raw {
		return less(n, a.Sender.Refused)
	}
	return n
}

// senderQueue is what waits before the device: the qdisc, or the neighbour's.
func (a *Account) senderQueue() claim {
	h := a.Sender.Host
	c := claim{Stage: result.Stage{Stage: "sender_qdisc", Host: sender}}
	link := nic(h, sender)
	quoted := link.evidence("qdisc_drops")
	if n, evidence, advice, known := dropped(h, sender, inQueue); known {
		c.low = a.told(n)
		c.high = c.low
		c.Evidence, c.Advice = and(evidence, quoted), advice
		return c
	}
	drops, known := link.rise("qdisc_drops")
	if !known || a.Sender.Raw {
		return c // a raw path was told of each
	}
	c.high = drops * uint64(max(a.Sender.Super, 1))
	c.low = shared(drops, less(drops+link.sum("qdisc_packets"), a.sent()))
	c.Evidence = quoted
	c.Advice = fmt.Sprintf("send slower, or give the queue more room: tc qdisc replace dev %s root pfifo limit 10000", device(h))
	return c
}

// Counters of what a device failed to send; the first holds the others where the
// driver keeps to linux/if_link.h.
var txErrors = []string{"tx_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors", "tx_window_errors"}

// senderNIC is what the driver or the device gave up.
func (a *Account) senderNIC() claim {
	h := a.Sender.Host
	c := claim{Stage: result.Stage{Stage: "sender_nic", Host: sender}}
	link := nic(h, sender)
	frames := link.sum("tx_dropped") + max(link.sum(txErrors[0]), link.sum(txErrors[1:]...))
	sent, _ := link.rise("tx_packets")
	n, evidence, advice, known := dropped(h, sender, inDevice)
	c.high = max(a.told(n), a.told(frames*uint64(max(a.Sender.Super, 1))))
	c.low = a.told(n)
	if !known || n == 0 {
		c.low = max(c.low, a.told(shared(frames, less(frames+sent, a.sent()))))
	}
	c.Evidence = and(evidence, link.evidence(append([]string{"tx_dropped"}, txErrors...)...))
	c.Advice = advice
	if c.Advice == "" {
		c.Advice = fmt.Sprintf("send slower, or give the device more room: ethtool -G %s tx 4096", device(h))
	}
	return c
}

// network is what left the sender's interface and did not come to the receiver's,
// by the counters of both.
func (a *Account) network(before []claim, missed claim) claim {
	out, in := nic(a.Sender.Host, sender), nic(a.Receiver.Host, receiver)
	left, known := out.rise("tx_packets")
	came, knownToo := in.rise("rx_packets")
	c := claim{Stage: result.Stage{Stage: "network"}}
	if !known || !knownToo {
		return c
	}
	if !a.Receiver.Merged {
		left += a.Packets - a.Arrived // duplicates came beside what left
	}
	gone := less(left, came)
	ours := less(a.sent(), before[0].Packets+before[1].Packets)
	c.low = less(shared(gone, less(left, ours)), missed.Packets)
	c.high = less(gone*uint64(max(a.Sender.Super, 1)), missed.Packets)
	c.Evidence = fmt.Sprintf("%d frames left %s of the sender and %d came to %s of the receiver",
		left, device(a.Sender.Host), came, device(a.Receiver.Host))
	return c
}
