// Package ledger settles the account of a test: where each lost packet was
// lost, from what both ends and their hosts counted. It is pure.
package ledger

import (
	"fmt"

	"linerate/internal/result"
)

// An Account is what the ends of a test know.
type Account struct {
	Sent    *uint64 // by the sender's count; nil if that is unknown
	Arrived uint64  // first copies
	Lost    uint64  // at least so many, if the sender's count is unknown
	// What the kernel lost at the receiver for want of room. It may hold
	// packets of others and end markers, so it bounds a stage from above.
	SocketDrops    uint64 // receive buffer
	ProgramDrops   uint64 // ring
	ChecksumErrors uint64 // datagrams that the receiving host refused for their UDP checksum
	WindowAsked    int    // receive buffer in bytes
	WindowGot      int
}

// Settle says where the packets went that did not arrive. It never explains more
// than was lost.
func Settle(a Account) *result.Ledger {
	l := &result.Ledger{Sent: a.Sent, Arrived: a.Arrived, Lost: []result.Stage{}}
	left := a.Lost
	take := func(stage string, drops uint64, evidence, advice string) {
		n := min(drops, left)
		if n == 0 {
			return
		}
		s := result.Stage{Stage: stage, Host: "receiver", Packets: n, Evidence: evidence, Advice: advice}
		if drops > n {
			s.AtMost = &drops
		}
		l.Lost = append(l.Lost, s)
		left -= n
	}
	take("receiver_filter", a.ChecksumErrors,
		fmt.Sprintf("the receiving host refused %d datagrams for a wrong UDP checksum (Udp InCsumErrors)", a.ChecksumErrors),
		"something on the way changes datagrams: compare captures at both ends")
	take("receiver_socket", a.SocketDrops,
		fmt.Sprintf("the socket's own count of datagrams that its %s buffer had no room for: %d", buffer(a), a.SocketDrops),
		"give the socket a larger buffer: -w 32M, and as root or with sysctl -w net.core.rmem_max=33554432")
	take("receiver_program", a.ProgramDrops,
		fmt.Sprintf("the ring's own count of frames that it had no room for: %d", a.ProgramDrops),
		"count with --rx udp, or leave a core to the receiver")
	l.Unexplained = left
	return l
}

// buffer describes the receive buffer, with what was asked where it is not what
// the kernel gave.
func buffer(a Account) string {
	got := kib(a.WindowGot)
	if a.WindowGot >= a.WindowAsked {
		return got
	}
	return fmt.Sprintf("%s (asked %s)", got, kib(a.WindowAsked))
}

func kib(n int) string { return fmt.Sprintf("%d KiB", n/1024) }
