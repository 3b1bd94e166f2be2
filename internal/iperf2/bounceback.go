package iperf2

import (
	"fmt"
	"time"
)

// BounceBackSize is the least size of a request of --bounceback: a server of
// the stock program drops the stream at less.
const BounceBackSize = 64

// StockBounceBack is the most: a server of the stock program has a buffer of 128 KiB,
// and crashes at more.
const StockBounceBack = 128 << 10

// A BounceBack is the head of a request and of its answer, which is the request
// with two times filled in. Times are wall time since 1970, in µs on the wire.
type BounceBack struct {
	Size     int           // bytes of the whole message
	ID       uint32        // the burst that it belongs to
	Sent     time.Duration // by the client
	Received time.Duration // by the server; only in the answer
	Answered time.Duration // by the server; only in the answer
	Hold     time.Duration // how long the server shall keep it
}

const (
	atBounceSize     = 4
	atBounceID       = 8
	atBounceSent     = 20
	atBounceReceived = 28
	atBounceAnswered = 36
	atBounceHold     = 44

	maxBounceBack = 1 << 20 // bytes of a message that a server takes
)

// Put writes the head of a request into a message of Size bytes.
func (r *BounceBack) Put(b []byte) {
	clear(b[:BounceBackSize])
	be.PutUint32(b, flagBounceBack)
	be.PutUint32(b[atBounceSize:], uint32(r.Size))
	be.PutUint32(b[atBounceID:], r.ID)
	putTime(b[atBounceSent:], r.Sent)
	putTime(b[atBounceReceived:], -time.Second-time.Microsecond) // as the stock client: not known
	be.PutUint32(b[atBounceHold:], uint32(r.Hold/time.Microsecond))
}

// Answer fills the server's times into the request that b holds.
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
	return BounceBack{
		Size:     int(size),
		ID:       be.Uint32(b[atBounceID:]),
		Sent:     readWall(b[atBounceSent:]),
		Received: readWall(b[atBounceReceived:]),
		Answered: readWall(b[atBounceAnswered:]),
		Hold:     time.Duration(be.Uint32(b[atBounceHold:])) * time.Microsecond,
	}, nil
}
