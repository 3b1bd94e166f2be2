package gen

import (
	"context"
	"sync/atomic"
	"time"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// retryPause is how long a worker leaves a path alone that refused a packet:
// long enough not to spin on a full queue, short against what the queue holds.
const retryPause = 20 * time.Microsecond

// A worker sends one share of a schedule by a sender of its own.
type worker struct {
	sender Sender
	share  pace.Schedule
	pacer  *pace.Pacer // has the account; nil before the start

	// What is published after each burst; anyone may read it.
	packets, payloadBytes, late, shortfall atomic.Uint64
	flows                                  []atomic.Uint64 // packets of each, its own among those of all workers

	// cpu is what the thread used, told when the worker ends; 0 where the platform
	// does not tell.
	cpu time.Duration
}

// transmit sends what the pacer says is due until the schedule is done, ctx ends
// or the path fails. It is a goroutine's whole work: its thread, which the caller
// has locked and placed, and whose timers it sharpens, ends with it.
func (k *worker) transmit(ctx context.Context) error {
	if err := linux.SetTimerSlack(1); err != nil {
		return err
	}
	begun := threadCPU()
	defer func() { k.cpu = threadCPU() - begun }()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	p := k.pacer
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
		n, err := k.sender.Send(b)
		p.Sent(b, n, now, waited)
		k.flows[b.Flow].Store(b.First + uint64(n))
		k.publish()
		if err != nil {
			return err
		}
		if n == 0 {
			now, _ = w.Wait(linux.Monotonic()+int64(retryPause), &stop)
		}
	}
	k.publish()
	return nil
}

func (k *worker) publish() {
	packets, bytes, late, shortfall := k.pacer.Totals()
	k.packets.Store(packets)
	k.payloadBytes.Store(bytes)
	k.late.Store(late)
	k.shortfall.Store(shortfall)
}

// threadCPU is the processor time that this thread has used.
func threadCPU() time.Duration {
	user, system, _ := linux.ThreadCPU()
	return user + system
}
