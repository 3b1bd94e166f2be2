package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync/atomic"
	"time"

	"linerate/internal/probe"
)

// A Receiver reads one stream of bytes and counts them. Its fields are set before
// Run and not changed after; Run and Drain are called one after the other.
type Receiver struct {
	Conn *net.TCPConn // lent: the caller closes it
	// Verify is what a Sender of this pattern sent, to compare with; nil drops
	// the bytes unseen, on Linux without copying them out of the kernel.
	Verify *probe.Pattern

	received, corrupt atomic.Uint64
	stream            reader // where Run left it
}

// A reader takes the next bytes of a stream, and waits for the first of them if
// the kernel has none.
type reader interface {
	// read tells how many bytes it took, and how many of these were corrupt.
	read() (n, corrupt int, err error)
}

// Received is the bytes of payload that were read so far. Any goroutine may ask.
func (r *Receiver) Received() uint64 { return r.received.Load() }

// Corrupt is how many of them were not as Verify has them. Any goroutine may ask.
func (r *Receiver) Corrupt() uint64 { return r.corrupt.Load() }

// Run reads until the peer ends the stream, and ended is true then, or until ctx
// ends. An error says that the connection broke; what came until then is counted.
func (r *Receiver) Run(ctx context.Context) (ended bool, err error) {
	return r.receive(ctx, math.MaxInt64)
}

// Drain reads what Run left until the peer ends the stream, and ended is true
// then, until nothing came for so long as silence, or until ctx ends: all that a
// peer sent before it stopped is counted then.
func (r *Receiver) Drain(ctx context.Context, silence time.Duration) (ended bool, err error) {
	return r.receive(ctx, silence)
}

// glance is how often a receiver looks up: whether it shall end, and for bytes
// that were too few to wake it.
const glance = 50 * time.Millisecond

func (r *Receiver) receive(ctx context.Context, silence time.Duration) (ended bool, err error) {
	if r.stream == nil {
		if r.stream, err = newReader(r.Conn, r.Verify); err != nil {
			return false, err
		}
	}
	pause := min(glance, silence)
	var quiet time.Duration
	heard := true
	if err := r.lookUp(pause); err != nil {
		return false, err
	}
	defer r.rest()
	for {
		n, corrupt, err := r.stream.read()
		r.received.Add(uint64(n))
		r.corrupt.Add(uint64(corrupt))
		heard = heard || n > 0
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if quiet += pause; heard {
				quiet = 0
			}
			if ctx.Err() != nil || quiet >= silence {
				return false, nil
			}
			heard = false
			if err := r.lookUp(pause); err != nil {
				return false, err
			}
		case err != nil:
			return false, fmt.Errorf("receive after %d bytes: %w", r.Received(), err)
		}
	}
}

// lookUp lets the next reads end after a pause.
func (r *Receiver) lookUp(pause time.Duration) error {
	if err := wakeRarely(r.Conn); err != nil {
		return err
	}
	return r.Conn.SetReadDeadline(time.Now().Add(pause))
}

// rest leaves the connection as other readers expect it. It can only fail on a
// closed one.
func (r *Receiver) rest() {
	_ = wakeAtOnce(r.Conn)
	_ = r.Conn.SetReadDeadline(time.Time{})
}
