package gen

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// retryPause is how long a worker leaves a path alone that refused a packet:
// long enough not to spin on a full queue, short against what the queue holds.
const retryPause = 20 * time.Microsecond

// Progress is what a worker publishes after each burst; anyone may read it.
type Progress struct {
	Packets, PayloadBytes, Late, Shortfall atomic.Uint64
	// Flows has what each flow has sent so far; nil if nobody wants to know.
	Flows []atomic.Uint64
	// CPU is the processor time in ns that the worker's thread used, told when
	// the worker ends; 0 where the platform does not tell.
	CPU atomic.Int64
}

// Transmit sends what the pacer says is due until the schedule is done, ctx ends
// or the path fails; the pacer has the account. It is a goroutine's whole work:
// its thread, whose timers it sharpens, ends with it.
func Transmit(ctx context.Context, s Sender, p *pace.Pacer, pub *Progress) error {
	runtime.LockOSThread() // and never unlocked
	if err := linux.SetTimerSlack(1); err != nil {
		return err
	}
	begun := threadCPU()
	defer func() { pub.CPU.Store(int64(threadCPU() - begun)) }()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	var w pace.Waiter
	var waited bool
	now := linux.Monotonic()
	for {
		b, at, ok := p.Next(now)
		if !ok {
			break
		}
		if now, waited = w.Wait(at, &stop); stop.Load() {
			break
		}
		n, err := s.Send(b)
		p.Sent(b, n, now, waited)
		if pub.Flows != nil {
			pub.Flows[b.Flow].Store(b.First + uint64(n))
		}
		publish(p, pub)
		if err != nil {
			return err
		}
		if n == 0 {
			now, _ = w.Wait(linux.Monotonic()+int64(retryPause), &stop)
		}
	}
	publish(p, pub)
	return nil
}

func publish(p *pace.Pacer, pub *Progress) {
	packets, bytes, late, shortfall := p.Totals()
	pub.Packets.Store(packets)
	pub.PayloadBytes.Store(bytes)
	pub.Late.Store(late)
	pub.Shortfall.Store(shortfall)
}

// threadCPU is the processor time that this thread has used.
func threadCPU() time.Duration {
	user, system, _ := linux.ThreadCPU()
	return user + system
}
