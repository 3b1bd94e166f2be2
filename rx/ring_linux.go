package rx

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/rx/track"
)

// The ring has many small blocks, as a block is used up by every retire timeout
// during which anything came, however little: 512 of them let us be away for half
// a second at a low rate. In 64 MiB are 250,000 frames of 64 bytes: 60 ms at 4
// million frames a second. A block of 128 KiB takes any frame.
const (
	ringBlock  = 128 << 10
	ringBlocks = 512
	ringRetire = time.Millisecond
)

// ring receives frames in memory that the kernel fills.
type ring struct {
	*raw
	ring   *linux.RxRing
	waiter waiter
}

func probeRing(c *Config) error {
	r, err := newRing(c, 1)
	if err != nil {
		return err
	}
	return r.Close()
}

func openRing(c *Config) (Receiver, error) {
	blocks := ringBlocks
	if c.group != nil {
		blocks /= c.group.size
	}
	r, err := newRing(c, max(blocks, 1))
	if err != nil {
		return nil, err
	}
	return r, nil
}

func newRing(c *Config, blocks int) (*ring, error) {
	raw, err := newRaw("ring", c)
	if err != nil {
		return nil, err
	}
	r := &ring{raw: raw}
	r.ring, err = linux.NewRxRing(r.fd, ringBlock, blocks, ringRetire)
	if err != nil {
		return nil, errors.Join(r.wrap(err), raw.Close())
	}
	if err := r.listen(); err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	return r, nil
}

// Receive implements Receiver. A batch is a block.
func (r *ring) Receive(t *track.Tracker, until time.Time) (int, error) {
	if err := r.alive(); err != nil {
		return 0, err
	}
	ready, err := r.acquire(until)
	if err != nil {
		return 0, r.failed(err)
	}
	if !ready {
		return 0, nil
	}
	r.down = false
	r.clock.update()
	handed := 0
	for a, ok := r.ring.Next(); ok; a, ok = r.ring.Next() {
		handed += r.hand(t, a)
	}
	r.ring.Release()
	return handed, nil
}

// acquire takes the next block, waiting for it no longer than until.
func (r *ring) acquire(until time.Time) (bool, error) {
	for !r.ring.Acquire() {
		if ready, err := r.waiter.wait(r.own[:], until); !ready {
			return false, err
		}
	}
	return true, nil
}

// Drops implements Receiver.
func (r *ring) Drops() (Drops, error) {
	stats, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return Drops{}, r.wrap(fmt.Errorf("getsockopt PACKET_STATISTICS: %w", err))
	}
	r.drops += uint64(stats.Drops) // reading clears it
	return Drops{Program: r.drops}, nil
}

// Close implements Receiver.
func (r *ring) Close() error {
	return errors.Join(r.ring.Close(), r.raw.Close())
}
