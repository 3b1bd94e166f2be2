// Package ledger settles the account of a test: where each lost packet was
// lost, from what both ends and their hosts counted, and what held the rate. It
// is pure.
package ledger

import "linerate/internal/result"

// An Account is what is known of one direction of a test.
type Account struct {
	Sent    *uint64 // by the sender's count; nil if that is unknown
	Packets uint64  // that arrived, duplicates included
	Arrived uint64  // first copies
	Lost    uint64  // at least so many, if the sender's count is unknown
	IPv6    bool

	Sender   SenderEnd
	Receiver ReceiverEnd
}

// A SenderEnd is what the sending end knows.
type SenderEnd struct {
	Host *result.Host // nil if unknown: no peer of ours
	// Raw says that frames were handed to the device or its queue, which told of
	// each that it refused: a refused frame is not sent, and so can't be lost.
	Raw     bool
	Refused uint64
	Super   int // most packets in a super-frame; 0 or 1 if none was made
}

// A ReceiverEnd is what the receiving end knows.
type ReceiverEnd struct {
	Host *result.Host // nil if unknown
	// Raw says that frames were taken from beneath the host's IP, which then
	// lost none of them, whatever it counted.
	Raw    bool
	Merged bool // some packets came merged into super-frames

	// SocketDrops are the UDP socket's own: no room in its buffer, or a wrong
	// checksum; nil if there is no such socket or the system does not tell.
	SocketDrops  *uint64
	ProgramDrops uint64 // of a raw path's ring or map
	WindowAsked  int    // receive buffer in bytes
	WindowGot    int
}

// A claim is what one stage may have lost: no fewer than low and no more than
// high packets.
type claim struct {
	result.Stage
	low, high uint64
}

// Settle says where the packets went that did not arrive. What counters prove
// stands as packets, what they allow on top as at_most, and what none of them
// proves stays unexplained: together exactly what was lost.
func Settle(a Account) *result.Ledger {
	l := &result.Ledger{Sent: a.Sent, Arrived: a.Arrived, Lost: []result.Stage{}}
	before := []claim{a.senderQueue(), a.senderNIC()}
	after := []claim{a.receiverNIC(), a.backlog(), a.filter(), a.socket(), a.program()}
	left := a.Lost
	take := func(claims []claim) {
		for i := range claims {
			claims[i].Packets = min(claims[i].low, left)
			left -= claims[i].Packets
		}
	}
	take(before)
	take(after)
	// What both hosts prove to be lost between them is what no host lost.
	between := []claim{a.network(before, after[0])}
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
