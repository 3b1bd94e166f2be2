package session

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"linerate/internal/host"
	"linerate/internal/result"
)

// A leg is one direction of a test at one of its ends: what leaves here, or what
// comes.
type leg interface {
	// run works until the leg is over, ctx ends or it fails, and shows each
	// interval that passes.
	run(ctx context.Context, show func(result.Interval)) error
	// finish ends in peace what run began: it waits for what is queued, and tells
	// the receiver what was sent.
	finish() error
	// progress says in a few words how far the leg is. It may be called while run
	// works.
	progress() string
	// close gives back what the leg holds of the host.
	close() error
}

// progressEvery is how often the one line of a terminal is redrawn.
const progressEvery = 250 * time.Millisecond

// A conductor runs the legs of a test and shows what they do. Whatever it shows,
// and whatever is handed to do, happens on the goroutine that conducts.
type conductor struct {
	rep   *result.Report
	o     Observer
	link  *link
	board board
	do    chan func()
	stop  context.CancelFunc // ends all legs

	role   string      // of this host in the report
	meter  *host.Meter // what it counts
	lapped time.Time   // when it was last read for an interval
}

// newConductor prepares to run a test over an interface, 0 for none in particular,
// and begins to count what becomes of its flows at this host, whose role is given: a
// flow for each direction that has packets.
func newConductor(rep *result.Report, o Observer, role string, ifindex int, flows ...host.Flow) (*conductor, error) {
	link, err := watch(ifindex)
	if err != nil {
		return nil, err
	}
	return &conductor{
		rep: rep, o: o, link: link, board: board{rep: rep, o: o}, role: role, meter: host.OpenMeter(ifindex, flows...),
		do: make(chan func(), 64), // so that a slow terminal does not hold a worker
	}, nil
}

// conduct runs legs until all of them have ended, and stops them if the link
// fails. What a part of the board shows is its leg's.
func (c *conductor) conduct(ctx context.Context, legs ...leg) error {
	var running context.Context
	running, c.stop = context.WithCancel(ctx)
	defer c.stop()
	ended := make(chan error, len(legs))
	var working atomic.Int32
	working.Store(int32(len(legs)))
	for part, l := range legs {
		go func() {
			err := l.run(running, c.show(part))
			if working.Add(-1) == 0 {
				c.do <- c.meter.Worked
			}
			ended <- errors.Join(err, l.finish())
		}()
	}
	return c.link.explain(c.attend(legs, ended))
}

// leastLap is how often a host's counters are read at most: it takes longer than the
// shortest intervals do, and the kernel tells processor time in steps of 10 ms.
const leastLap = 5 * time.Millisecond

// show takes the intervals of a part of the board. With the first part's goes what
// this host did meanwhile.
func (c *conductor) show(part int) func(result.Interval) {
	return func(iv result.Interval) {
		c.do <- func() {
			if now := time.Now(); part == 0 && now.Sub(c.lapped) >= leastLap {
				iv.Hosts, c.lapped = c.lap(), now
			}
			c.board.add(iv)
		}
	}
}

// attend shows what happens until all legs have ended.
func (c *conductor) attend(legs []leg, ended <-chan error) (failed error) {
	redraw := time.NewTicker(progressEvery)
	defer redraw.Stop()
	for left := len(legs); left > 0; {
		select {
		case err := <-ended:
			left--
			if err != nil {
				failed = errors.Join(failed, err)
				c.stop()
			}
		case f := <-c.do:
			f()
		case <-redraw.C:
			c.o.Progress(progressOf(legs))
		case event, ok := <-c.link.events:
			if c.link.failed(event, ok) {
				c.stop()
			}
		}
	}
	c.catchUp()
	return failed
}

// catchUp does what was handed over last.
func (c *conductor) catchUp() {
	for {
		select {
		case f := <-c.do:
			f()
		default:
			return
		}
	}
}

func progressOf(legs []leg) string {
	line := legs[0].progress()
	for _, l := range legs[1:] {
		line += "; " + l.progress()
	}
	return line
}

// lap is what this end did since the last lap.
func (c *conductor) lap() []result.Host {
	h := c.meter.Lap()
	h.Role = c.role
	return []result.Host{*h}
}

// host is this end of the test.
func (c *conductor) host() *result.Host {
	h := c.meter.Total()
	h.Role = c.role
	return h
}

// later hands over what is to happen on the goroutine that conducts, unless ctx
// ends first.
func (c *conductor) later(ctx context.Context, f func()) {
	select {
	case c.do <- f:
	case <-ctx.Done():
	}
}

func (c *conductor) close() {
	c.link.close()
	c.meter.Close()
}

// turned is a leg of the second direction of a test.
type turned struct{ leg }

func (t turned) run(ctx context.Context, show func(result.Interval)) error {
	return t.leg.run(ctx, turn(show))
}

// turn shows intervals as of the second direction.
func turn(show func(result.Interval)) func(result.Interval) {
	return func(iv result.Interval) {
		iv.Reverse = &result.ReverseInterval{Sender: iv.Sender, Receiver: iv.Receiver}
		iv.Sender, iv.Receiver = nil, nil
		show(iv)
	}
}

// patient is a leg that what ends the test does not end at once: the sender's own
// last word may still be on its way.
type patient struct{ leg }

// lastWord is how long that may take.
const lastWord = 500 * time.Millisecond

func (p patient) run(ctx context.Context, show func(result.Interval)) error {
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWord, stop) })()
	return p.leg.run(longer, show)
}

// since lets the intervals of a receiving leg count from the start of the test.
func since(l leg, start time.Time) {
	if r, ok := l.(*receiving); ok {
		r.since = start
	}
}

// A moment is a time that a leg sets and others may ask for meanwhile.
type moment struct{ atomic.Pointer[time.Time] }

func (m *moment) set(t time.Time) { m.Store(&t) }

// since is the time since then.
func (m *moment) since() time.Duration { return time.Since(*m.Load()) }
