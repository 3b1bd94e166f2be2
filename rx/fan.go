package rx

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"linerate/internal/linux"
	"linerate/rx/track"
)

// look is how often the workers of a fan are asked what they have.
const look = 10 * time.Millisecond

// A fan is several receivers between which the kernel spreads the flows, each with
// a thread and a tracker of its own. To others it is one Counter.
type fan struct {
	workers   []*fanned
	placement linux.Placement
	stop      atomic.Bool
	before    uint64 // datagrams that had come at the last look
	merged    Merged
}

// A framedFan is one of receivers that see frames.
type framedFan struct {
	*fan
	frames Frames
}

// fanned is a worker of a fan.
type fanned struct {
	receiver spreadable
	tracker  *track.Tracker // nil before the start
	cpu      time.Duration  // that its thread used, once it has ended
	asked    atomic.Bool
	shown    chan glance
	done     chan error // has why it ended, and is closed then
}

// A glance is what a worker has by now.
type glance struct {
	tracker *track.Tracker
	frames  Frames
	merged  Merged
}

// spreadable is a Receiver that may be one of several.
type spreadable interface {
	Receiver
	// admit lets in what arrives: nothing does before all of a group are open, as
	// a flow would change between them.
	admit() error
}

// A group is the receivers of a fan, to the kernel.
type group struct {
	size   int
	joined int
	id     int // of a packet fanout
}

// OpenFan opens the path for so many threads, between which the kernel spreads the
// flows that arrive, each whole. Only a path that Spreads can have more than one,
// and Config.Most can't be shared.
func (p *Path) OpenFan(c *Config, threads int, placement linux.Placement) (Receiver, error) {
	switch {
	case threads == 1:
		return p.Open(c)
	case !p.Spreads:
		return nil, fmt.Errorf("rx %s: takes one thread", p.Name)
	}
	f := &fan{placement: placement}
	one := *c
	one.group = &group{size: threads}
	framed := false
	for range threads {
		r, err := p.Open(&one)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		_, framed = r.(Framed)
		f.workers = append(f.workers, &fanned{receiver: r.(spreadable), shown: make(chan glance), done: make(chan error, 1)})
	}
	for _, w := range f.workers {
		if err := w.receiver.admit(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if framed {
		return &framedFan{fan: f}, nil
	}
	return f, nil
}

// start lets the workers count.
func (f *fan) start(t *track.Tracker) {
	for i, tracker := range t.Split(len(f.workers)) {
		w := f.workers[i]
		w.tracker = tracker
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the worker
			_, err := f.placement.Enter(i)
			if err == nil {
				err = w.count(&f.stop)
			}
			w.cpu = threadCPU()
			w.done <- err
			close(w.done)
		}()
	}
}

// count hands arrivals to the tracker until it is told to stop, and shows what it
// has when it is asked.
func (w *fanned) count(stop *atomic.Bool) error {
	for !stop.Load() {
		if _, err := w.receiver.Receive(w.tracker, time.Now().Add(look)); err != nil {
			return err
		}
		if w.asked.Load() {
			w.asked.Store(false)
			w.shown <- w.glance(w.tracker.Snapshot())
		}
	}
	return nil
}

func (w *fanned) glance(t *track.Tracker) glance {
	g := glance{tracker: t}
	if r, ok := w.receiver.(Framed); ok {
		g.frames = r.Frames()
	}
	if r, ok := w.receiver.(Splitter); ok {
		g.merged = r.Merged()
	}
	return g
}

// Receive implements Receiver.
func (f *fan) Receive(t *track.Tracker, until time.Time) (int, error) {
	n, _, err := f.receive(t, until)
	return n, err
}

// Receive implements Receiver.
func (f *framedFan) Receive(t *track.Tracker, until time.Time) (n int, err error) {
	n, f.frames, err = f.receive(t, until)
	return n, err
}

func (f *fan) receive(t *track.Tracker, until time.Time) (int, Frames, error) {
	if f.workers[0].tracker == nil {
		f.start(t)
	}
	if f.stop.Load() {
		return 0, Frames{}, errors.New("rx: the threads that counted have ended")
	}
	time.Sleep(min(look, time.Until(until)))
	for _, w := range f.workers {
		w.asked.Store(true)
	}
	glances := make([]glance, len(f.workers))
	for i, w := range f.workers {
		select {
		case glances[i] = <-w.shown:
		case err := <-w.done:
			f.halt()
			return 0, Frames{}, err
		}
	}
	frames, err := f.merge(t, glances)
	now := t.Totals()
	n := now.Packets + now.Foreign - f.before
	f.before += n
	return int(n), frames, err
}

// merge brings together what the workers have.
func (f *fan) merge(t *track.Tracker, glances []glance) (frames Frames, err error) {
	f.merged = Merged{}
	trackers := make([]*track.Tracker, len(glances))
	for i, g := range glances {
		trackers[i] = g.tracker
		frames.add(g.frames)
		f.merged.Frames += g.merged.Frames
		f.merged.Datagrams += g.merged.Datagrams
	}
	return frames, t.Merge(trackers)
}

// halt ends the workers and returns why those ended that did by themselves.
func (f *fan) halt() error {
	f.stop.Store(true)
	var errs []error
	for _, w := range f.workers {
		if w.tracker == nil {
			continue
		}
		for running := true; running; {
			select {
			case <-w.shown: // it was asked just before
			case err, first := <-w.done:
				running = false
				if first {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// Settle implements Counter.
func (f *fan) Settle(t *track.Tracker) error {
	_, err := f.settle(t)
	return err
}

// Settle implements Counter.
func (f *framedFan) Settle(t *track.Tracker) (err error) {
	f.frames, err = f.settle(t)
	return err
}

func (f *fan) settle(t *track.Tracker) (Frames, error) {
	err := f.halt()
	if f.workers[0].tracker == nil {
		return Frames{}, err
	}
	glances := make([]glance, len(f.workers))
	for i, w := range f.workers {
		glances[i] = w.glance(w.tracker)
	}
	frames, errMerge := f.merge(t, glances)
	return frames, errors.Join(err, errMerge)
}

// Frames implements Framed.
func (f *framedFan) Frames() Frames { return f.frames }

// Merged implements Splitter.
func (f *fan) Merged() Merged { return f.merged }

// Window implements Buffered; 0 where the path has no socket buffer.
func (f *fan) Window() int {
	if b, ok := f.workers[0].receiver.(Buffered); ok {
		return b.Window()
	}
	return 0
}

// Drops implements Receiver. Nobody may be counting.
func (f *fan) Drops() (Drops, error) {
	var sum Drops
	for _, w := range f.workers {
		d, err := w.receiver.Drops()
		if err != nil {
			return Drops{}, err
		}
		sum.Socket += d.Socket
		sum.Program += d.Program
	}
	return sum, nil
}

// cpu is the processor time that the workers used. They have ended.
func (f *fan) cpu() (used time.Duration) {
	for _, w := range f.workers {
		used += w.cpu
	}
	return used
}

// Close implements Receiver.
func (f *fan) Close() error {
	errs := []error{f.halt()}
	for _, w := range f.workers {
		errs = append(errs, w.receiver.Close())
	}
	return errors.Join(errs...)
}
