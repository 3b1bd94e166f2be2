package gen

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// retryPause is how long a worker leaves a path alone that refused a packet:
// long enough not to spin on a full queue, short against what the queue holds.
const retryPause = 20 * time.Microsecond

// longGap is a gap between packets that a worker sleeps for most of. One that spins
// for most of it must not take precedence: it would starve who is to receive.
const longGap = 50 * time.Microsecond

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
// or the path fails. It is a goroutine's whole work: the caller has locked and placed
// its thread, whose timers it sharpens and which may take precedence, and never unlocks it.
func (k *worker) transmit(ctx context.Context) error {
	if k.share.MicroRate > 0 { // short turns cost who never sleeps a tenth of his rate
		if err := linux.WakeOnTime(); err != nil {
			return err
		}
	}
	if k.sleeps() {
		if err := linux.Precede(); err != nil {
			return err
		}
	}
	begun := threadCPU()
	defer func() { k.cpu = threadCPU() - begun }()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	p := k.pacer
	var w pace.Waiter
	spacer, _ := k.sender.(Spacer)
	for {
		now := linux.Monotonic()
		b, at, ok := p.Next(now)
		if !ok {
			break
		}
		if now = w.Wait(now, at, &stop); stop.Load() {
			break
		}
		n, err := k.sender.Send(b)
		if b.Span == 0 {
			p.Sent(b, n, now)
		} else {
			late, errLate := spacer.Late()
			p.Spaced(b, n, late)
			err = errors.Join(err, errLate)
		}
		k.flows[b.Flow].Store(b.First + uint64(n))
		k.publish()
		if err != nil {
			return errors.Join(err, watched(p, spacer))
		}
		if n == 0 {
			now = linux.Monotonic()
			w.Wait(now, now+int64(retryPause), &stop)
		}
	}
	k.publish()
	return watched(p, spacer)
}

// sleeps says whether the worker sleeps for most of the time. A path that spaces packets
// itself spins.
func (k *worker) sleeps() bool { return k.share.Gap() >= longGap && k.share.Span == 0 }

// watched gives the pacer what a path watched that spaced packets itself.
func watched(p *pace.Pacer, s Spacer) error {
	if s == nil {
		return nil
	}
	departures, err := s.Departures()
	p.Watched(departures)
	return err
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
