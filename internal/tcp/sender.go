package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"linerate/gen/pace"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// DefaultLen is the payload in bytes that one system call sends, as iperf3's.
const DefaultLen = 128 << 10

// A Sender sends one stream of bytes. Its fields are set before Run and not
// changed after.
type Sender struct {
	Conn *net.TCPConn // lent: the caller closes it
	// Pattern is what is sent: byte i of the stream is the pattern's byte i
	// modulo probe.PatternLen.
	Pattern probe.Pattern
	// Len is the bytes of a block. 0 is DefaultLen, and with a Rate no more than
	// is due in 10 ms, so that a slow stream flows evenly.
	Len int
	// Rate is in bits of payload per second; 0 is as fast as the connection
	// takes them, and more than 18 Tbit/s is not to be had.
	Rate uint64
	// Bytes ends the stream after exactly so many; 0 for no such limit.
	Bytes uint64
	// Duration ends it after that time, with a Rate after the whole blocks that
	// the rate allows in it; 0 for no such limit.
	Duration time.Duration
	// ZeroCopy sends by sendfile(2) from a file in memory, which spares the
	// sender's processor a copy; it needs Linux.
	ZeroCopy bool

	sent, shortfall atomic.Uint64
}

// Sent is the bytes of payload that the kernel took so far, of which the peer
// may not have all. Any goroutine may ask.
func (s *Sender) Sent() uint64 { return s.sent.Load() }

// Shortfall is the bytes that were due by the rate and given up, because the
// connection or this host was too slow for more than pace.MaxDebt. Any goroutine
// may ask.
func (s *Sender) Shortfall() uint64 { return s.shortfall.Load() }

// Run sends until a limit is reached or ctx ends, which is no error, also when
// the peer has stopped reading. What the kernel took is still on its way then.
// The connection stays open, for CloseWrite to mark the end. An error says that
// the connection broke; what was sent until then is counted.
func (s *Sender) Run(ctx context.Context) error {
	if err := keepUnsent(s.Conn); err != nil {
		return err
	}
	w, err := s.newWriter()
	if err != nil {
		return err
	}
	start := linux.Monotonic()
	defer bound(ctx, s.Conn.SetWriteDeadline, s.deadline(time.Now()))()
	return errors.Join(s.run(ctx, w, pace.NewPacer(s.schedule(), start), start), w.close())
}

func (s *Sender) run(ctx context.Context, w writer, p *pace.Pacer, start int64) error {
	cut := 0 // bytes that left of a block that no longer could
	for now := start; ; now = linux.Monotonic() {
		b, at, ok := p.Next(now)
		_, _, _, short := p.Totals()
		short *= uint64(s.blockLen())
		s.shortfall.Store(short - min(short, uint64(cut)))
		if !ok && s.Bytes == 0 {
			at = start + int64(s.Duration) // the time of the last block counts, too
		}
		if !sleep(ctx, now, at) || !ok {
			return nil
		}
		n, rest, err := s.send(w, b)
		// What was overslept is made up for at once.
		p.Sent(b, n, max(now, at))
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("send after %d bytes: %w", s.Sent(), err)
		}
		cut = rest
	}
}

// send sends the blocks of a burst and returns how many left whole, and the bytes
// that left of the next.
func (s *Sender) send(w writer, b pace.Burst) (blocks, rest int, err error) {
	for blocks < b.N {
		size := s.left(b.Size)
		n, err := w.write(size)
		s.sent.Add(uint64(n))
		if err != nil {
			return blocks, n, err
		}
		blocks++
	}
	return blocks, 0, nil
}

// blockLen is the bytes of a block.
func (s *Sender) blockLen() int {
	const tenMillis, least = 800, 128 // bits per second to bytes per 10 ms
	switch {
	case s.Len > 0:
		return s.Len
	case s.Rate == 0:
		return DefaultLen
	}
	return int(min(max(s.Rate/tenMillis, least), DefaultLen))
}

// schedule says when each block is due. Those that are due within a millisecond
// go together, for a sleep is not much more exact.
func (s *Sender) schedule() pace.Schedule {
	size := uint64(s.blockLen())
	return pace.Schedule{
		Sizes: []int{int(size)}, Costs: []uint64{size * 8}, MicroRate: s.Rate * units.MicrosPerUnit,
		Flows: 1, Burst: int(max(1, s.Rate/1000/(size*8))),
		Count: (s.Bytes + size - 1) / size, Duration: s.Duration,
	}
}

// left is how much of a block is still to send: the last one may be shorter.
func (s *Sender) left(size int) int {
	if s.Bytes == 0 {
		return size
	}
	return int(min(uint64(size), s.Bytes-s.Sent()))
}

// deadline is when a write ends that blocks: with the time that the schedule has.
func (s *Sender) deadline(start time.Time) time.Time {
	if s.Duration == 0 {
		return time.Time{}
	}
	if s.Rate > 0 {
		start = start.Add(pace.MaxDebt)
	}
	return start.Add(s.Duration)
}

// sleep waits for an instant of linux.Monotonic and says whether it came before
// ctx ended.
func sleep(ctx context.Context, now, at int64) bool {
	const patience = int64(50 * time.Millisecond)
	for ; now < at && ctx.Err() == nil; now = linux.Monotonic() {
		linux.SleepUntil(min(at, now+patience))
	}
	return ctx.Err() == nil
}
