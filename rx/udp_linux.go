package rx

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// udp is a UDP socket, or several that are read in turn. Only the head of each
// payload is copied; the kernel checks the checksum over all of it nevertheless.
type udp struct {
	path   string // its name, for messages
	fds    []int
	queue  messageQueue
	clock  stampClock
	window int
	drops  []wrapping // of each socket

	sources []probe.Source // of each shared socket
	mirror  mirror
	filter  Filter
}

func probeUDP(*Config) error { return nil }

func openUDP(c *Config) (Receiver, error) {
	r, err := newUDP("udp", c, max(c.Capture, 1))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// newUDP opens a socket for a path that captures so many bytes of each message.
func newUDP(path string, c *Config, capture int) (*udp, error) {
	r := &udp{path: path, queue: newMessageQueue(capture), mirror: mirror{every: uint64(c.Reflect)}, filter: c.Filter}
	var err error
	if len(c.Sockets) > 0 {
		err = r.share(c)
	} else {
		err = r.open(c)
	}
	if err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	r.drops = make([]wrapping, len(r.fds))
	return r, nil
}

// open opens sockets of its own, one for each port.
func (r *udp) open(c *Config) error {
	for i := range c.ports() {
		one := c.at(i)
		s, err := newUDPSocket(one)
		if err != nil {
			return err
		}
		if err := r.add(s.fd, c.Window); err != nil {
			return err
		}
		if c.group != nil {
			err = c.group.bind(s, one)
		} else {
			err = s.bind(one)
		}
		if err != nil {
			return err
		}
	}
	if c.group != nil {
		c.group.joined++
	}
	return nil
}

// share takes the sockets that there are. What waits in them already is part of
// the test.
func (r *udp) share(c *Config) error {
	for i, conn := range c.Sockets {
		r.sources = append(r.sources, SocketSource(conn, i))
		fd, err := linux.Share(conn)
		if err != nil {
			return err
		}
		if err := r.add(fd, c.Window); err != nil {
			return err
		}
	}
	return nil
}

// add sets up a socket, which is the receiver's from then on.
func (r *udp) add(fd, window int) (err error) {
	r.fds = append(r.fds, fd)
	if r.window, err = receiveBuffer(fd, window); err != nil {
		return err
	}
	if r.filter.DSCP != nil {
		if err := tellTOS(fd); err != nil {
			return err
		}
	}
	return stampArrivals(fd)
}

// Receive implements Receiver.
func (r *udp) Receive(t *track.Tracker, until time.Time) (int, error) {
	return r.receive(until, func(a linux.Arrival, from probe.Source) int {
		at := r.clock.monotonic(a.Wall)
		t.Datagram(a.Data, a.Len, from, at)
		if r.mirror.every > 0 {
			r.mirror.reflect(r.fds[r.queue.read], a, from, at)
		}
		return 1
	})
}

// receive has a batch handed over, of what the filter takes, and returns how many
// datagrams that is. A batch of which it takes none is none.
func (r *udp) receive(until time.Time, hand func(linux.Arrival, probe.Source) int) (int, error) {
	for {
		n, err := r.fetch(until)
		if n == 0 || err != nil {
			return 0, err
		}
		handed := 0
		for i := range n {
			a, from := r.queue.msgs.Arrival(i), r.source(i)
			if r.filter.takes(from, a.TOS) {
				handed += hand(a, from)
			}
		}
		if handed > 0 || !time.Now().Before(until) {
			return handed, nil
		}
	}
}

// fetch takes the next batch of messages, waiting for it no longer than until.
func (r *udp) fetch(until time.Time) (int, error) {
	n, err := r.queue.fetch(r.fds, until)
	if err != nil {
		return 0, r.wrap(err)
	}
	if n > 0 {
		r.clock.update()
	}
	return n, nil
}

// source is where message i of the batch came from.
func (r *udp) source(i int) (from probe.Source) {
	if r.sources != nil {
		return r.sources[r.queue.read]
	}
	from.Addr, from.Port = r.queue.msgs.Source(i)
	return from
}

func (r *udp) wrap(err error) error { return fmt.Errorf("rx %s: %w", r.path, err) }

// Reflected implements Mirror.
func (r *udp) Reflected() uint64 { return r.mirror.sent }

// Window implements Buffered.
func (r *udp) Window() int { return r.window }

// Drops implements Receiver.
func (r *udp) Drops() (Drops, error) {
	if r.fds == nil {
		return Drops{}, r.wrap(os.ErrClosed)
	}
	var sum Drops
	for i, fd := range r.fds {
		n, err := linux.SocketDrops(fd)
		if err != nil {
			return Drops{}, r.wrap(err)
		}
		sum.Socket += r.drops[i].total(n)
	}
	return sum, nil
}

// Close implements Receiver; it may be called again.
func (r *udp) Close() error {
	var errs []error
	for _, fd := range r.fds {
		errs = append(errs, unix.Close(fd))
	}
	r.fds = nil
	return errors.Join(errs...)
}
