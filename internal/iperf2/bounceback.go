package iperf2

import (
	"fmt"
	"time"
)

// BounceBackSize is the least size of a request of --bounceback: a server of
// the stock program drops the stream at less.
const BounceBackSize = 64

// A BounceBack is what a server has to know of a request. The rest of its head is
// the client's own, and goes back as it came.
type BounceBack struct {
	Size int           // bytes of the whole message
	Hold time.Duration // how long the server shall keep it
}

const (
	atBounceSize     = 4
	atBounceReceived = 28
	atBounceAnswered = 36
	atBounceHold     = 44

	maxBounceBack = 1 << 20 // bytes of a message that a server takes
)

// Answer makes an answer of the request that b holds: it fills in when the server
// received and answered it, in wall time since 1970, in µs on the wire.
func Answer(b []byte, received, answered time.Duration) {
	putTime(b[atBounceReceived:], received)
	putTime(b[atBounceAnswered:], answered)
}

// ParseBounceBack reads the head of a message.
func ParseBounceBack(b []byte) (BounceBack, error) {
	if len(b) < BounceBackSize || be.Uint32(b)&flagBounceBack == 0 {
		return BounceBack{}, fmt.Errorf("%w: no request to be bounced back", errHeader)
	}
	size := be.Uint32(b[atBounceSize:])
	if size < BounceBackSize || size > maxBounceBack {
		return BounceBack{}, fmt.Errorf("a request of %d bytes is to be bounced back: want %d to %d", size, BounceBackSize, maxBounceBack)
	}
	return BounceBack{Size: int(size), Hold: time.Duration(be.Uint32(b[atBounceHold:])) * time.Microsecond}, nil
}
