package ledger

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
)

// pace is the most that the kernel was to let leave of each stream, and that did. A
// qdisc that paces (fq) counts headers, too.
func (t *Test) pace() *result.Limit {
	c, got := t.Config, t.achieved()
	if c.PaceBps == 0 || got == nil || got.L4Bps < full*c.PaceBps*float64(max(c.Flows, 1)) {
		return nil
	}
	return limit("rate", "the pace asked for (--pace %s of each stream)", units.FormatBits(c.PaceBps))
}

// window is one that is too small for the path: the receiver's, or the sender's
// buffer. The most that it allows is a window each round trip.
func (t *Test) window() *result.Limit {
	tcp, got := t.tcp(), t.achieved()
	if tcp == nil || got == nil || tcp.BusyNS == nil || *tcp.BusyNS == 0 {
		return nil
	}
	share := func(ns *int64) float64 {
		if ns == nil {
			return 0
		}
		return float64(*ns) / float64(*tcp.BusyNS)
	}
	byReceiver, byBuffer := share(tcp.RwndLimitedNS), share(tcp.SndbufLimitedNS)
	const most = 0.3 // of the time; each hides a part of the other
	if byReceiver+byBuffer < most {
		return nil
	}
	whose := "the receiver's window"
	size := tcp.MaxSendWindow
	if byBuffer > byReceiver {
		whose = "the send buffer"
		size = tcp.MaxCwndBytes
		if t.Config.WindowGot > 0 {
			n := uint64(t.Config.WindowGot)
			size = &n
		}
	}
	held := percent(max(byReceiver, byBuffer))
	rtt := roundTrip(tcp)
	if size == nil || rtt == 0 {
		return limit("window", "%s held the sender for %s of the time; raise it by -w", whose, held)
	}
	allows := 8 * float64(*size) / rtt.Seconds()
	const slack = 2
	if byReceiver >= byBuffer && allows > slack*got.L4Bps {
		if core := t.atItsEnd(t.ReceiverHost); core != "" {
			return limit("receiver_cpu", "on the receiver %s: its window held the sender for %s of the time", core, held)
		}
		return limit("peer", "the receiver did not read as fast as data came: its window of %s would allow %s, and held the sender for %s of the time",
			units.FormatSize(int64(*size)), units.FormatBits(allows), held)
	}
	return limit("window", "%s of %s over %s allows %s; -w %s lifts it",
		whose, units.FormatSize(int64(*size)), units.FormatNS(int64(rtt)), units.FormatBits(allows), larger(*size))
}

// larger is a window as -w takes it that is at least four times as large.
func larger(size uint64) string { return asWindow(4 * size) }

// asWindow is a window of so many bytes or a little more, as -w takes it.
func asWindow(size uint64) string {
	want := uint64(1) << bits.Len64(max(size, 1)-1)
	if want >= 1<<20 {
		return fmt.Sprintf("%dM", want>>20)
	}
	return fmt.Sprintf("%dK", max(want>>10, 1))
}

// congestion is a network that lost segments, or whose round trip grew: TCP's own
// window held the sender.
func (t *Test) congestion() *result.Limit {
	tcp := t.tcp()
	if tcp == nil || tcp.Retransmits == nil || *tcp.Retransmits == 0 || t.harmless(*tcp.Retransmits) {
		return nil
	}
	why := fmt.Sprintf("%d segments were sent again", *tcp.Retransmits)
	if tcp.MaxCwndBytes != nil {
		why += fmt.Sprintf(", the congestion window came to %s", units.FormatSize(int64(*tcp.MaxCwndBytes)))
	}
	if rtt := roundTrip(tcp); rtt > 0 {
		why += " over " + units.FormatNS(int64(rtt))
	}
	return limit("network", "%s", why)
}

// harmless is whether so few segments were sent again that a window which halves for
// each would allow far more than came about: 1.22 segments a round trip over the root of
// their share (Mathis et al., "The macroscopic behavior of the TCP congestion avoidance
// algorithm", 1997).
func (t *Test) harmless(again uint64) bool {
	got, rtt, segment := t.achieved(), roundTrip(t.tcp()).Seconds(), 8*float64(t.Config.MSS)
	if got == nil || rtt == 0 || segment == 0 {
		return false
	}
	const constant, far = 1.22, 2
	sent := got.L4Bps * t.Sender.Seconds / segment
	return constant*segment/rtt/math.Sqrt(float64(again)/sent) > far*got.L4Bps
}

// tcp is what TCP told of the sender; nil if nothing.
func (t *Test) tcp() *result.SentTCP {
	if t.Sender == nil {
		return nil
	}
	return t.Sender.SentTCP
}

// roundTrip is the mean round-trip time, or the least where only that is known; 0
// if none is.
func roundTrip(tcp *result.SentTCP) time.Duration {
	switch {
	case tcp.RTTNS != nil:
		return time.Duration(tcp.RTTNS.Mean)
	case tcp.MinRTTNS != nil:
		return time.Duration(*tcp.MinRTTNS)
	}
	return 0
}
