package gen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A Crew is the workers that send one schedule by one path: each has flows of its
// own, a Sender and a thread. What it tells is of all of them.
type Crew struct {
	workers   []*worker
	flows     []atomic.Uint64 // packets sent of each
	placement linux.Placement
	dismiss   func() // ends the workers' threads, which may be asked until then what they used
	dismissed chan struct{}
}

// A Progress is how far a crew is.
type Progress struct{ Packets, PayloadBytes, Late, Shortfall uint64 }

// Crew opens the path for so many workers, at most one a flow. Where a worker needs
// a queue of the interface, they have those from cfg.Queue on.
func (p *Path) Crew(cfg *Config, s pace.Schedule, workers int, placement linux.Placement) (*Crew, error) {
	c := &Crew{placement: placement, flows: make([]atomic.Uint64, s.Flows), dismissed: make(chan struct{})}
	c.dismiss = sync.OnceFunc(func() { close(c.dismissed) })
	for i := range workers {
		w := &worker{share: s.Split(i, workers), flows: c.flows}
		own := *cfg
		own.Flow = w.share.Has
		if p.Queue {
			own.Queue += i
		}
		var err error
		if w.sender, err = p.Open(&own); err != nil {
			if i > 0 {
				err = fmt.Errorf("worker %d of %d: %w", i+1, workers, err)
			}
			return nil, errors.Join(err, c.Close())
		}
		c.workers = append(c.workers, w)
	}
	return c, nil
}

// Transmit sends the schedule from the given CLOCK_MONOTONIC time in ns on, until
// it is done, ctx ends or the path fails, which stops all workers.
func (c *Crew) Transmit(ctx context.Context, start int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error)
	for i, w := range c.workers {
		w.pacer = pace.NewPacer(w.share, start)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the worker
			_, err := c.placement.Enter(i)
			if err == nil {
				err = w.transmit(ctx)
			}
			done <- err
			<-c.dismissed
		}()
	}
	var failed error
	for range c.workers {
		if err := <-done; err != nil && failed == nil {
			failed = err
			stop()
		}
	}
	return failed
}

// Progress may be called by anyone while the crew sends.
func (c *Crew) Progress() (p Progress) {
	for _, w := range c.workers {
		p.Packets += w.packets.Load()
		p.PayloadBytes += w.payloadBytes.Load()
		p.Late += w.late.Load()
		p.Shortfall += w.shortfall.Load()
	}
	return p
}

// Sent is how many packets of a flow have left; anyone may ask meanwhile.
func (c *Crew) Sent(flow int) uint64 { return c.flows[flow].Load() }

// CPU is the processor time that the threads of a crew that is done used; 0 where
// the platform does not tell.
func (c *Crew) CPU() (used time.Duration) {
	for _, w := range c.workers {
		used += w.cpu
	}
	return used
}

// Finish settles the account of a crew that is done.
func (c *Crew) Finish() (stats pace.Stats, perFlow []uint64) {
	pacers := make([]*pace.Pacer, len(c.workers))
	for i, w := range c.workers {
		pacers[i] = w.pacer
	}
	return pace.Finish(pacers...), pace.SentPerFlow(pacers...)
}

// Drain waits for what all workers sent, as that of a Sender.
func (c *Crew) Drain(ctx context.Context) (Completed, error) {
	var sum Completed
	var errs []error
	for _, w := range c.workers {
		done, err := w.sender.Drain(ctx)
		sum.Packets += done.Packets
		sum.Refused += done.Refused
		sum.Unreachable += done.Unreachable
		errs = append(errs, err)
	}
	return sum, errors.Join(errs...)
}

// Mark transmits a datagram on a flow, as that of a Sender.
func (c *Crew) Mark(flow uint16, payload []byte) error {
	return c.workers[int(flow)%len(c.workers)].sender.Mark(flow, payload)
}

// Window is the SO_SNDBUF of a socket in bytes, as the kernel tells it (see
// Windower); 0 where the path has none.
func (c *Crew) Window() (int, error) {
	if w, ok := c.workers[0].sender.(Windower); ok {
		return w.Window()
	}
	return 0, nil
}

// Segments is the most packets that left as one super-frame, and whether it has
// turned out that the kernel takes none (see Segmenter).
func (c *Crew) Segments() (most int, refused bool) {
	for _, w := range c.workers {
		if s, ok := w.sender.(Segmenter); ok {
			n, none := s.Segments()
			most, refused = max(most, n), refused || none
		}
	}
	return most, refused
}

// Close closes all senders and ends their threads.
func (c *Crew) Close() error {
	c.dismiss()
	var errs []error
	for _, w := range c.workers {
		errs = append(errs, w.sender.Close())
	}
	return errors.Join(errs...)
}
