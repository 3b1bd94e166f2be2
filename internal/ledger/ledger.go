// Package ledger settles the account of a test: where each lost packet was
// lost, from what both ends and their hosts counted, and what held the rate. It
// is pure.
package ledger

import "linerate/internal/result"

// A Test is what is known of one direction of a test when it is over. What is
// unknown is nil: all of the other end, if it is no linerate.
type Test struct {
	Config                   *result.Config
	IPv6                     bool
	Sender                   *result.Sender
	Receiver                 *result.Receiver
	SenderHost, ReceiverHost *result.Host
	Probes                   uint64 // for round trips, and requests, beside the load, each way
}

// Back is a host as the second direction of --bidir has to do with it; nil if it is
// unknown.
func Back(h *result.Host) *result.Host {
	if h == nil {
		return nil
	}
	back := *h
	back.Socket, back.DropReasons = nil, nil
	if h.Reverse != nil {
		back.Socket, back.DropReasons = h.Reverse.Socket, h.Reverse.DropReasons
	}
	return &back
}

// A claim is what one stage may have lost: no fewer than low and no more than
// high packets.
type claim struct {
	result.Stage
	low, high uint64
}

// Settle says where the packets went that did not arrive. What counters prove
// stands as packets, what they allow on top as at_most, and what none of them
// proves stays unexplained: together exactly what was lost. It is nil for a test
// whose arrivals were not counted in packets.
func Settle(t Test) *result.Ledger {
	if t.Receiver == nil || t.Receiver.ArrivedPackets == nil {
		return nil
	}
	l := &result.Ledger{Arrived: t.Receiver.Unique, Lost: []result.Stage{}}
	if !t.Receiver.LossIsLowerBound {
		sent := t.sent()
		l.Sent = &sent
	}
	before := []claim{t.senderQueue(), t.senderNIC()}
	after := []claim{t.receiverNIC(), t.backlog(), t.filter(), t.socket(), t.program()}
	left := t.Receiver.Lost
	take := func(claims []claim) {
		for i := range claims {
			claims[i].Packets = min(claims[i].low, left)
			left -= claims[i].Packets
		}
	}
	take(before)
	take(after)
	// What both hosts prove to be lost between them is what no host lost.
	between := []claim{t.network(before, after[0], left)}
	take(between)
	for _, claims := range [][]claim{before, between, after} {
		for _, c := range claims {
			if bound := min(c.high, c.Packets+left); bound > c.Packets {
				c.AtMost = &bound
			}
			if c.Packets > 0 || c.AtMost != nil {
				l.Lost = append(l.Lost, c.Stage)
			}
		}
	}
	l.Unexplained = left
	return l
}

// housekeeping is how many frames that are no test's an idle interface may see
// in a test: ARP, neighbour discovery, end markers, a control connection.
const housekeeping = 64

// shared is what of a counter is the test's for certain, if so many other packets
// went the same way.
func shared(n, others uint64) uint64 {
	if others <= housekeeping {
		return n
	}
	return n - min(n, others)
}

// less is a - b, or 0.
func less(a, b uint64) uint64 { return a - min(a, b) }
