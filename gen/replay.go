package gen

import (
	"context"
	"runtime"
	"sync/atomic"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A FrameSender sends whole frames as they are, by an AF_PACKET socket. One
// goroutine owns it.
type FrameSender interface {
	// Send transmits frames and returns how many the kernel took, in order; it
	// takes no more than FrameBatch at once. A short count without an error
	// means that the kernel refused the next one for now.
	Send(frames [][]byte) (int, error)
	// Drain waits until what was taken has left, or until ctx ends.
	Drain(context.Context) (Completed, error)
	Close() error
}

// FrameBatch is the most frames that a FrameSender takes in one call.
const FrameBatch = 64

// Played is how far a replay is, for anyone to read: frames that left, and of them
// those that were late.
type Played struct{ Packets, Late atomic.Uint64 }

// Replay sends frames, over and over, as the player says, until it is done, ctx
// ends or the path fails. It is a goroutine's whole work: its thread, whose timers
// it sharpens, ends with it.
func Replay(ctx context.Context, s FrameSender, frames [][]byte, p *pace.Player, pub *Played) error {
	runtime.LockOSThread() // and never unlocked
	if err := linux.WakeOnTime(); err != nil {
		return err
	}
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	var w pace.Waiter
	now := linux.Monotonic()
	for {
		k, at, ok := p.Next(now)
		if !ok {
			return nil
		}
		if now = w.Wait(now, at, &stop); stop.Load() {
			return nil
		}
		from := int(k % uint64(len(frames)))
		n, err := s.Send(frames[from:][:p.Ready(now, min(FrameBatch, len(frames)-from))])
		p.Sent(n, now)
		packets, late := p.Totals()
		pub.Packets.Store(packets)
		pub.Late.Store(late)
		if err != nil {
			return err
		}
		if n == 0 {
			now = linux.Monotonic()
			now = w.Wait(now, now+int64(retryPause), &stop)
		}
	}
}
