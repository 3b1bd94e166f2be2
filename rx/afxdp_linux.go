package rx

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/linux"
	"linerate/rx/track"
)

// xskMemory is the least that all queues get together: room for 16,000 frames of an
// ordinary MTU, so that we may be away for 5 ms at 3 million frames a second. Twice as
// much made that rate less: frames leave the caches before they are read.
const xskMemory = 32 << 20

const (
	// rest is how long frames may gather before we look for more. A frame's time
	// stands in front of it, so none is lost by that. Without it the kernel would
	// wake us for every few frames, which costs us and the processor that receives
	// more than the frames do; and it likes to wake us there, behind that work.
	rest = 100 * time.Microsecond
	// lull is how long nothing came when we let the kernel wake us again.
	lull = 10 * time.Millisecond
)

// afxdp receives frames in memory that the kernel fills, one AF_XDP socket for
// each receive queue of the interface. Its packet socket hears nothing and tells
// what becomes of the link.
type afxdp struct {
	*raw
	sockets  []*linux.XSKReceiver
	redirect *bpf.Redirect
	poll     []unix.PollFd // the packet socket, then the others
	timeout  unix.Timespec
	came     int64 // when the latest frame with a time was taken, CLOCK_MONOTONIC in ns
}

// probeAFXDP tries without zero copy, for which a driver may reset its queue.
func probeAFXDP(c *Config) error {
	r, err := newAFXDP(c, 1<<20, false)
	if err != nil {
		return err
	}
	return r.Close()
}

func openAFXDP(c *Config) (Receiver, error) {
	r, err := newAFXDP(c, max(c.Window, xskMemory), true)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func newAFXDP(c *Config, memory int, zeroCopy bool) (*afxdp, error) {
	if err := c.bothVersions(); err != nil {
		return nil, fmt.Errorf("rx afxdp: %w", err)
	}
	raw, err := newRaw("afxdp", c)
	if err != nil {
		return nil, err
	}
	raw.untold = true
	r := &afxdp{raw: raw}
	if err := r.start(c, memory, zeroCopy); err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	return r, nil
}

func (r *afxdp) start(c *Config, memory int, zeroCopy bool) error {
	if err := r.watch(); err != nil {
		return err
	}
	capture := maxHeaders + c.Capture
	if c.Verify {
		capture = maxFrame
	}
	if err := r.openQueues(memory, capture, zeroCopy); err != nil {
		return err
	}
	r.poll = append(r.poll, unix.PollFd{Fd: int32(r.fd)})
	fds := make([]int, len(r.sockets))
	for i, s := range r.sockets {
		fds[i] = s.FD()
		r.poll = append(r.poll, unix.PollFd{Fd: int32(s.FD()), Events: unix.POLLIN})
	}
	var err error
	r.redirect, err = bpf.AttachRedirect(r.iface.Index, [6]byte(r.iface.HardwareAddr), c.Local.Addr(), c.selection(), fds)
	return err
}

// watch binds the packet socket to a protocol that nobody speaks: one bound to
// none would not be told that the link is down.
func (r *afxdp) watch() error {
	const experimental = 0x88b5 // for local experiments, IEEE 802
	err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(experimental), Ifindex: r.iface.Index})
	if err != nil {
		return fmt.Errorf("bind to %s: %w", r.iface.Name, err)
	}
	return nil
}

// openQueues opens a socket for each queue. They share memory bytes.
func (r *afxdp) openQueues(memory, capture int, zeroCopy bool) error {
	n, err := r.countQueues(capture)
	if err != nil {
		return err
	}
	for i := range n {
		s, err := r.openQueue(i, memory/n, capture, zeroCopy)
		if err != nil {
			return err
		}
		r.sockets = append(r.sockets, s)
	}
	return nil
}

// countQueues finds by trying how many queues there are.
func (r *afxdp) countQueues(capture int) (n int, err error) {
	for ; ; n++ {
		s, err := r.openQueue(n, 1, capture, false)
		if errors.Is(err, unix.EINVAL) && n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		if err := s.Close(); err != nil {
			return 0, err
		}
		if n == bpf.MaxQueues {
			return 0, fmt.Errorf("%s has more than %d receive queues (ethtool -L %s combined %d, or --rx ring)", r.iface.Name, n, r.iface.Name, n)
		}
	}
}

func (r *afxdp) openQueue(queue, memory, capture int, zeroCopy bool) (*linux.XSKReceiver, error) {
	q := linux.XSKQueue{IfIndex: r.iface.Index, Queue: queue, ZeroCopy: zeroCopy}
	return linux.NewXSKReceiver(q, memory, r.iface.MTU+ethernetLen+tagLen, capture)
}

// Note implements Noted: what is slower than a driver's own XDP, and what is faster.
func (r *afxdp) Note() string {
	switch {
	case r.redirect.Generic():
		return "the driver has no XDP: afxdp gets its frames by generic XDP, after the kernel made a packet of each"
	case r.sockets[0].ZeroCopy():
		return "afxdp runs zero copy: the driver puts frames into our memory itself"
	}
	return ""
}

// Receive implements Receiver.
func (r *afxdp) Receive(t *track.Tracker, until time.Time) (int, error) {
	if err := r.alive(); err != nil {
		return 0, err
	}
	for {
		if handed, any := r.take(t); any {
			r.down = false
			return handed, nil
		}
		if now := linux.Monotonic(); now-r.came < int64(lull) && time.Now().Before(until) {
			linux.SleepUntil(now + int64(rest))
			continue
		}
		if ready, err := r.wait(until); err != nil {
			return 0, r.failed(err)
		} else if !ready {
			return 0, nil
		}
	}
}

// take hands over a batch of each queue, and tells whether anything was there.
func (r *afxdp) take(t *track.Tracker) (handed int, any bool) {
	var now int64
	for _, s := range r.sockets {
		if !s.Acquire() {
			continue
		}
		if !any {
			any, now = true, linux.Monotonic()
		}
		for a, ok := s.Next(); ok; a, ok = s.Next() {
			if a.Len > r.iface.MTU+ethernetLen+tagLen { // by generic XDP GSO's come whole
				r.frames.Superframes++
				continue
			}
			if d, ok := r.datagram(a); ok {
				at := a.Mono
				if at != 0 {
					r.came = now
				} else {
					at = now
				}
				t.Datagram(d.payload(), d.size, d.from, at)
				handed++
			}
		}
		s.Release()
	}
	return handed, any
}

// wait is true when a socket is readable and false when the time has passed.
func (r *afxdp) wait(until time.Time) (bool, error) {
	for {
		left := time.Until(until)
		if left <= 0 {
			return false, nil
		}
		r.timeout = unix.NsecToTimespec(int64(left))
		n, err := unix.Ppoll(r.poll, &r.timeout, nil)
		switch {
		case err == unix.EINTR: // the Go runtime's own signals
		case err != nil:
			return false, fmt.Errorf("ppoll: %w", err)
		case n > 0:
			return true, r.errors()
		}
	}
}

// errors returns and clears the error that waits at any of the sockets.
func (r *afxdp) errors() error {
	for _, p := range r.poll {
		if p.Revents&^unix.POLLIN != 0 {
			if err := socketError(int(p.Fd)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Drops implements Receiver.
func (r *afxdp) Drops() (Drops, error) {
	var d Drops
	for _, s := range r.sockets {
		n, err := s.Dropped()
		if err != nil {
			return Drops{}, r.wrap(err)
		}
		d.Program += n
	}
	return d, nil
}

// Close implements Receiver.
func (r *afxdp) Close() error {
	var errs []error
	if r.redirect != nil { // first, so that nothing is redirected to a socket that is gone
		errs = append(errs, r.redirect.Close())
		r.redirect = nil
	}
	for _, s := range r.sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, r.raw.Close())...)
}
