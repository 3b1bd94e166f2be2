// Package pmtu probes which sizes of IP packets reach a host and come back: by ICMP
// echo, which every host answers, or by UDP to a receiver that reflects, whose small
// answers tell the way there apart.
package pmtu

import (
	"net/netip"
	"time"
)

// A Probe is one size to try.
type Probe struct {
	Size int // bytes of the IP packet
	// Whole forbids fragments on the way there (DF; IPv6 knows no others): what
	// does not fit is refused. Without it this host may send the request in
	// fragments, and the answer shows the way back alone.
	Whole bool
	// Fragment is how large a fragment may be where not Whole, in bytes of an IP
	// packet; 0 for what this host knows of the path. Over IPv4 it has no say:
	// routers cut up there.
	Fragment int
	// Patience is how long to wait for an answer.
	Patience time.Duration
}

// An Answer is what became of a probe.
type Answer struct {
	Arrived bool
	// Fragment is the size of the largest fragment that the answer came in; 0 if it
	// came whole.
	Fragment int
	RTT      time.Duration
	// Refusal is who said that the size is too large; nil if nobody did.
	Refusal *Refusal
}

// A Refusal says that a packet was too large.
type Refusal struct {
	From netip.Addr // the router that said so; invalid where this host did
	MTU  int        // what it said would fit; 0 if it didn't
}

// Overheads of an echo in bytes of the IP packet.
const (
	header4    = 20
	header6    = 40
	echoHeader = 8
)

// Least is the smallest probe: that every link carries (RFC 791), and over IPv6 with
// as much behind its longer header.
func Least(v6 bool) int {
	if v6 {
		return 68 - header4 + header6
	}
	return 68
}
