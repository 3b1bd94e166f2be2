package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/result"
	"linerate/internal/units"
)

const (
	// guardWindow is the time that a rate is the mean of, as in iperf3's server.
	guardWindow = 5 * time.Second
	// guardMargin is what a rate may be over the limit: what a sender's start
	// and a queue on the way add to one that keeps to it.
	guardMargin = 1.05
	// guardSilence is how long nothing may move. The slowest rate that sends at
	// all sends something in it.
	guardSilence = time.Minute
)

// A breach is why a server ends a test before its client does.
type breach struct {
	code iperf3.Code // for the client
	text string      // for the server's log
}

func (b *breach) Error() string { return b.text }

// breakOff tells the client why the test ends before it said so, unless the server
// was stopped, which it hears later. What can't be told, it finds out.
func (s *server) breakOff(cause error) error {
	var b *breach
	if errors.As(cause, &b) {
		_ = s.Conn.Refuse(b.code, 0)
	}
	return cause
}

var errTooLong = &breach{iperf3.OverMaxDuration, "the client did not end the test in the time that it may take (--max-duration)"}

// A guard holds a test to what a server allows, by what was measured in each
// interval, whatever its client said that it would send.
type guard struct {
	Observer
	maxRate uint64 // bit/s of payload in both directions together; 0 for any
	end     context.CancelCauseFunc

	window []moved
	silent float64 // seconds
}

// moved is what a test moved in one interval.
type moved struct{ bits, seconds float64 }

func (g *guard) Interval(r *result.Report, iv *result.Interval) {
	g.Observer.Interval(r, iv)
	now := moved{bits: 8 * float64(payload(iv)), seconds: iv.EndS - iv.StartS}
	g.silent += now.seconds
	if now.bits > 0 {
		g.silent = 0
	}
	if g.silent >= guardSilence.Seconds() {
		g.end(&breach{iperf3.NoData, fmt.Sprintf("nothing moved for %v", guardSilence)})
	}
	if rate, known := g.mean(now); known && g.maxRate > 0 && rate > guardMargin*float64(g.maxRate) {
		g.end(&breach{iperf3.OverRateLimit, fmt.Sprintf("the test moved %s, and this server allows %s (--max-rate)",
			units.FormatBits(rate), units.FormatBits(float64(g.maxRate)))})
	}
}

// mean adds an interval and is the rate in bit/s over the last guardWindow, not
// known before that has passed.
func (g *guard) mean(now moved) (rate float64, known bool) {
	g.window = append(g.window, now)
	var sum moved
	for _, m := range g.window {
		sum.bits += m.bits
		sum.seconds += m.seconds
	}
	for first := g.window[0]; sum.seconds-first.seconds >= guardWindow.Seconds(); first = g.window[0] {
		sum.bits -= first.bits
		sum.seconds -= first.seconds
		g.window = g.window[1:]
	}
	return sum.bits / sum.seconds, sum.seconds >= guardWindow.Seconds()
}

// payload is the bytes that this end received and sent in an interval.
func payload(iv *result.Interval) (bytes uint64) {
	if iv.Receiver != nil {
		bytes += iv.Receiver.PayloadBytes
	}
	if iv.Sender != nil {
		bytes += iv.Sender.PayloadBytes
	}
	if iv.Reverse != nil && iv.Reverse.Sender != nil {
		bytes += iv.Reverse.Sender.PayloadBytes
	}
	return bytes
}
