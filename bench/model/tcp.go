package model

import (
	"math"
	"time"
)

// TransferTimeRatio is how much longer a transfer took than it had to (RFC 6349,
// section 4.1.2).
func TransferTimeRatio(actual, ideal time.Duration) float64 { return float64(actual) / float64(ideal) }

// Efficiency is the share of bytes that were not sent again (RFC 6349, section
// 4.2.1).
func Efficiency(transmitted, retransmitted uint64) float64 {
	return float64(transmitted-retransmitted) / float64(transmitted)
}

// BufferDelay is by how much the round trip grows under load, in parts of the base
// (RFC 6349, section 4.3.1).
func BufferDelay(base, average time.Duration) float64 { return float64(average-base) / float64(base) }

// BDP is the bandwidth-delay product in bytes (RFC 6349, section 3.3.1).
func BDP(bps float64, rtt time.Duration) float64 { return bps * rtt.Seconds() / 8 }

// WindowLimit is the rate in bit/s that a window allows (RFC 6349, section 3.3.1).
func WindowLimit(bytes float64, rtt time.Duration) float64 { return bytes * 8 / rtt.Seconds() }

// A Target is what a path must do for TCP to reach a rate over a round trip (RFC
// 8337, section 5.2).
type Target struct {
	Window int // packets
	Run    int // packets between losses, at least

	h1, h2, s float64 // of the sequential test
}

// NewTarget works out the target; the errors of the sequential probability ratio
// test (RFC 8337, section 7.2) are alpha and beta.
func NewTarget(bps float64, rtt time.Duration, mtu, headers int, alpha, beta float64) Target {
	window := math.Ceil(bps * rtt.Seconds() / (8 * float64(mtu-headers)))
	run := 3 * window * window
	p0, p1 := 1/run, 4/run
	k := math.Log(p1 * (1 - p0) / (p0 * (1 - p1)))
	return Target{
		Window: int(window), Run: int(run),
		h1: math.Log((1-alpha)/beta) / k,
		h2: math.Log((1-beta)/alpha) / k,
		s:  math.Log((1-p0)/(1-p1)) / k,
	}
}

// Judge says after so many packets whether the losses are few enough, or too many;
// neither where more packets are needed.
func (t Target) Judge(packets, lost uint64) (pass, fail bool) {
	n, k := float64(packets), float64(lost)
	return k <= t.s*n-t.h1, k >= t.s*n+t.h2
}
