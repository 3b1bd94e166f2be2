package rx

import (
	"context"
	"errors"
	"runtime"
	"time"

	"linerate/internal/linux"
	"linerate/rx/track"
)

const (
	// patience bounds one Receive, so that a stop is seen soon.
	patience = 50 * time.Millisecond
	// quiet is how long nothing has to come after the last packet of a test in
	// which everything arrived: end markers come a few ms apart, and a duplicate
	// may still follow them.
	quiet = 50 * time.Millisecond
)

// Ticks say when a worker reports.
type Ticks struct {
	Since time.Time     // the start; its zero value stands for the first arrival
	Every time.Duration // after the start; 0 for never
	Omit  time.Duration // after it there is a tick, too, and the others begin anew from there
	// Coming, unless nil, is called with true when packets of the test begin to come,
	// and with false when none came for a while or the sender is done.
	Coming func(bool)
}

// first is the first tick after a start.
func (k *Ticks) first(start time.Time) time.Time {
	k.Since = start
	return k.after(start)
}

// after is the tick after one; its zero value if there is none.
func (k *Ticks) after(last time.Time) time.Time {
	over := k.Since.Add(k.Omit)
	if k.Omit > 0 && !last.Before(over) {
		k.Since, k.Omit = over, 0
	}
	next := last.Add(k.Every)
	switch {
	case k.Omit > 0 && (k.Every == 0 || next.After(over)):
		return over
	case k.Every == 0:
		return time.Time{}
	}
	return next
}

// Limits say when to stop counting; the sender's end marker always does.
type Limits struct {
	// Placement is of the worker's thread: a receiver that waits for a processor
	// may lose what comes meanwhile (afxdp most). A Counter counts elsewhere.
	Placement linux.Placement

	Duration time.Duration // from the start of the count; 0 for none
	Packets  uint64        // first copies and others; 0 for none
	Silence  time.Duration // after a packet of the test, without any other
	Drain    time.Duration // after the end marker, while packets are missing
}

// A Reason says why counting ended.
type Reason uint8

const (
	Stopped  Reason = iota // the context ended
	Finished               // the sender said that it was done
	Full                   // as many packets came as were asked for
	TimeUp                 // the duration passed
	Silent                 // the sender fell silent without a word
)

// An Outcome is how a count ended, and what it cost.
type Outcome struct {
	Reason Reason
	// CPU is the processor time of the threads that counted; 0 where the platform
	// does not tell. What the kernel does before a thread gets a packet is not in it.
	CPU time.Duration
}

// Count lets r hand to t what arrives until a limit is reached, the sender is
// done, ctx ends or the path fails. At each of the ticks, until the sender has
// ended, it calls tick, which may ask t what it likes. It keeps a thread to
// itself. When it returns, t has all that r counted.
func Count(ctx context.Context, r Receiver, t *track.Tracker, l Limits, ticks Ticks, tick func()) (o Outcome, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := threadCPU()
	defer func() { o.CPU += threadCPU() - begun }()
	if c, ok := r.(Counter); ok {
		o.Reason, err = count(ctx, r, t, l, ticks, tick)
		err = errors.Join(err, c.Settle(t))
		if f, ok := r.(interface{ cpu() time.Duration }); ok {
			o.CPU = f.cpu()
		}
		return o, err
	}
	leave, err := l.Placement.Enter(0)
	if err != nil {
		return o, err
	}
	defer leave()
	o.Reason, err = count(ctx, r, t, l, ticks, tick)
	return o, err
}

func count(ctx context.Context, r Receiver, t *track.Tracker, l Limits, ticks Ticks, tick func()) (Reason, error) {
	begun := time.Now()
	var next, last, ended time.Time // the next tick, the latest packet of the test, the end marker
	var stopped time.Time           // when it was seen that ctx had ended
	var latest int64                // arrival of the packet at last
	coming := false
	note := func(now bool) {
		if now != coming && ticks.Coming != nil {
			ticks.Coming(now)
		}
		coming = now
	}
	if !ticks.Since.IsZero() {
		next = ticks.first(ticks.Since)
	}
	for {
		until := time.Now().Add(patience)
		if ended.IsZero() {
			until = earlier(until, next)
		}
		if l.Duration > 0 {
			until = earlier(until, begun.Add(l.Duration))
		}
		if !stopped.IsZero() {
			until = stopped
		}
		n, err := r.Receive(t, until)
		now := time.Now()
		if ctx.Err() != nil && stopped.IsZero() {
			stopped = now
		}
		if a := t.LastArrival(); n > 0 && t.Started() && a != latest {
			latest, last = a, now
			note(ended.IsZero())
		}
		if err != nil {
			return Stopped, err
		}
		if ticks.Since.IsZero() && t.Started() {
			next = ticks.first(fromMonotonic(t.Totals().First, now))
		}
		for !next.IsZero() && ended.IsZero() && !now.Before(next) {
			tick()
			next = ticks.after(next)
		}
		if ended.IsZero() && t.Ended() {
			ended = now
		}
		if !ended.IsZero() || now.Sub(last) >= patience {
			note(false)
		}
		switch {
		case !stopped.IsZero() && (n == 0 || now.Sub(stopped) >= patience): // what had come by then counts
			return Stopped, nil
		case l.Packets > 0 && t.Totals().Packets >= l.Packets:
			return Full, nil
		case l.Duration > 0 && now.Sub(begun) >= l.Duration:
			return TimeUp, nil
		case !ended.IsZero() && (now.Sub(ended) >= l.Drain || now.Sub(last) >= min(quiet, l.Drain) && t.Complete()):
			return Finished, nil
		case !last.IsZero() && ended.IsZero() && l.Silence > 0 && now.Sub(last) >= l.Silence:
			return Silent, nil
		}
	}
}

// threadCPU is the processor time that this thread has used.
func threadCPU() time.Duration {
	user, system, _ := linux.ThreadCPU()
	return user + system
}

// earlier is the earlier of two times, of which b may be unset.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// fromMonotonic is the time of a reading of CLOCK_MONOTONIC in ns, now being now.
func fromMonotonic(mono int64, now time.Time) time.Time {
	return now.Add(time.Duration(mono - linux.Monotonic()))
}
