package ledger

import (
	"fmt"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
)

// slice is how long a reader may well be off its core while others have their
// turn: a buffer for less loses packets on a machine that has time.
const slice = 10 * time.Millisecond

// buffer describes a receive buffer, with what was asked where it is not what the
// kernel gave.
func buffer(s result.Socket) string {
	got := units.FormatSize(int64(s.WindowGot))
	if s.WindowGot >= s.WindowAsked {
		return got
	}
	return fmt.Sprintf("%s (asked %s)", got, units.FormatSize(int64(s.WindowAsked)))
}

// offered is what came to the receiver or should have, in bit/s of payload; 0 if
// unknown.
func (t *Test) offered() float64 {
	switch {
	case t.Sender != nil && t.Sender.Rate != nil:
		return t.Sender.Rate.L4Bps
	case t.Receiver.Rate != nil && t.Receiver.Unique > 0:
		return t.Receiver.Rate.L4Bps * float64(t.Receiver.Unique+t.Receiver.Lost) / float64(t.Receiver.Unique)
	}
	return 0
}

// small is whether the receiver's buffer is too small for a slice, whatever the
// receiver does.
func (t *Test) small() bool {
	got := t.own().WindowGot
	return got > 0 && 8*float64(got) < slice.Seconds()*t.offered()
}

// room is the command that gives the receiver's buffer more of it: for as many
// bytes as were asked for, else for ten slices of what comes.
func (t *Test) room() string {
	own := t.own()
	if own.WindowGot < own.WindowAsked {
		return fmt.Sprintf("sysctl -w net.core.rmem_max=%d", own.WindowAsked)
	}
	const usual = 4 << 20
	return "-w " + asWindow(max(uint64(10*slice.Seconds()*t.offered()/8), 2*uint64(own.WindowGot), usual))
}
