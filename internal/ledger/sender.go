package ledger

import (
	"cmp"
	"fmt"

	"linerate/internal/result"
)

// The two ends, as the report names them.
const (
	sender   = "sender"
	receiver = "receiver"
)

// sent is what the sender sent, as far as that is known.
func (t *Test) sent() uint64 { return t.Receiver.Unique + t.Receiver.Lost }

// super is the most packets in a super-frame that was sent; 1 if none was.
func (t *Test) super() uint64 {
	if t.Sender == nil || t.Sender.SentPacing == nil {
		return 1
	}
	return uint64(max(t.Sender.SuperPackets, 1))
}

// raw says whether an end's frames pass beneath its host's IP.
func raw(h *result.Host) bool { return h != nil && h.Socket != nil && h.Socket.Raw }

// told takes off what the sender was told of: the device or its queue refused a
// raw path's frame, which is then not sent and can't be lost.
func (t *Test) told(n uint64) uint64 {
	if raw(t.SenderHost) && t.Sender != nil && t.Sender.SentPacing != nil {
		return less(n, t.Sender.Refused)
	}
	return n
}

// byFirewall is the kernel's reason for what netfilter drops. In the output hook
// it tells the sender so, and nothing is sent; behind it, at the device, a UDP
// socket is told of a full queue and takes that for a loss (SndbufErrors).
const byFirewall = "NETFILTER_DROP"

// senderQueue is what waits before the device: the qdisc, or the neighbour's.
func (t *Test) senderQueue() claim {
	h := t.SenderHost
	c := claim{Stage: result.Stage{Stage: "sender_qdisc", Host: sender}}
	link := nic(h, sender)
	quoted := link.evidence("qdisc_drops")
	if n, evidence, advice, known := dropped(h, sender, inQueue); known {
		if rest := less(h.DropReasons[unspecific], t.deviceDrops()); rest > 0 {
			n += rest
			evidence = and(evidence, fmt.Sprintf("dropped by the kernel of the sender without a reason, and not by its device: %d", rest))
			advice = cmp.Or(advice, cure("NEIGH_FAILED", h))
		}
		refused := min(h.DropReasons[byFirewall], net(h, sender).sum(t.udp("SndbufErrors")))
		if refused > 0 {
			n += refused
			evidence = and(evidence, fmt.Sprintf("dropped by the sender's own firewall behind its output hook: %d", refused))
			advice = cmp.Or(advice, cure(byFirewall, h))
		}
		c.low = t.told(n)
		c.high = c.low
		c.Evidence, c.Advice = and(evidence, quoted), advice
		return c
	}
	drops, known := link.rise("qdisc_drops")
	if !known || raw(t.SenderHost) {
		return c // a raw path was told of each
	}
	c.high = drops * t.super()
	c.low = shared(drops, less(drops+link.sum("qdisc_packets"), t.sent()))
	c.Evidence = quoted
	c.Advice = fmt.Sprintf("send slower, or give the queue more room: tc qdisc replace dev %s root pfifo limit 10000", device(h))
	return c
}

// Counters of what a device failed to send; the first holds the others where the
// driver keeps to linux/if_link.h.
var txErrors = []string{"tx_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors", "tx_window_errors"}

// deviceDrops are the packets that the sender's device may have given up, others'
// among them: it counts super-frames, too, as one.
func (t *Test) deviceDrops() uint64 {
	link := nic(t.SenderHost, sender)
	return t.super() * (link.sum("tx_dropped") + max(link.sum(txErrors[0]), link.sum(txErrors[1:]...)))
}

// senderNIC is what the driver or the device gave up.
func (t *Test) senderNIC() claim {
	h := t.SenderHost
	c := claim{Stage: result.Stage{Stage: "sender_nic", Host: sender}}
	link := nic(h, sender)
	frames := t.deviceDrops()
	sent, _ := link.rise("tx_packets")
	n, evidence, advice, known := dropped(h, sender, inDevice)
	if asked(h) {
		n += min(h.DropReasons[unspecific], frames)
	}
	c.high = max(t.told(n), t.told(frames))
	c.low = t.told(n)
	if !known || n == 0 {
		c.low = max(c.low, t.told(shared(frames, less(frames+sent, t.sent()))))
	}
	c.Evidence = and(evidence, link.evidence(append([]string{"tx_dropped"}, txErrors...)...))
	c.Advice = advice
	if c.Advice == "" {
		c.Advice = fmt.Sprintf("send slower, or give the device more room: ethtool -G %s tx 4096", device(h))
	}
	return c
}

// network is what left the sender's interface and did not come to the receiver's,
// by the counters of both, of the packets that no host lost.
func (t *Test) network(before []claim, missed claim, rest uint64) claim {
	out, in := nic(t.SenderHost, sender), nic(t.ReceiverHost, receiver)
	left, known := out.rise("tx_packets")
	came, knownToo := in.rise("rx_packets")
	c := claim{Stage: result.Stage{Stage: "network"}}
	if !known || !knownToo {
		return c
	}
	gone := less(left+t.duplicates(), came)
	ours := less(t.sent(), before[0].Packets+before[1].Packets)
	others := less(left, ours)
	// Where both kernels told what they dropped of it, the rest of the test is
	// among what is gone, whoever's the other frames are. XDP they can't tell of.
	told := asked(t.SenderHost) && asked(t.ReceiverHost) && in.sum(xdpDrops) == 0
	proved := others <= housekeeping || told
	if proved {
		others = 0
	}
	c.low = less(less(gone, others), missed.Packets)
	c.high = less(gone*t.super(), missed.Packets)
	if proved && less(rest, c.low) <= min(housekeeping, c.low) {
		c.low = max(c.low, rest) // a few frames of others came in their place
	}
	c.Evidence = fmt.Sprintf("%d frames left %s of the sender and %d came to %s of the receiver",
		left, device(t.SenderHost), came, device(t.ReceiverHost))
	return c
}

// duplicates are what came beside what left, as far as frames show it.
func (t *Test) duplicates() uint64 {
	if t.merged() {
		return 0
	}
	return t.Receiver.Packets - t.Receiver.Unique
}
