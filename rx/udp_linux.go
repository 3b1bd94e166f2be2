package rx

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// udp is a UDP socket. Only the head of each payload is copied; the kernel
// checks the checksum over all of it nevertheless.
type udp struct {
	path   string // its name, for messages
	fd     int
	queue  messageQueue
	clock  stampClock
	window int
	drops  wrapping
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
	s, err := newUDPSocket(c)
	if err != nil {
		return nil, fmt.Errorf("rx %s: %w", path, err)
	}
	r := &udp{path: path, fd: s.fd, queue: newMessageQueue(capture)}
	r.window, err = receiveBuffer(s.fd, c.Window)
	if err == nil {
		err = stampArrivals(s.fd)
	}
	if err == nil {
		err = s.bind(c)
	}
	if err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	return r, nil
}

// Receive implements Receiver.
func (r *udp) Receive(t *track.Tracker, until time.Time) (int, error) {
	n, err := r.fetch(until)
	if err != nil {
		return 0, err
	}
	for i := range n {
		a := r.queue.msgs.Arrival(i)
		t.Datagram(a.Data, a.Len, r.source(i), r.clock.monotonic(a.Wall))
	}
	return n, nil
}

// fetch takes the next batch of messages, waiting for it no longer than until.
func (r *udp) fetch(until time.Time) (int, error) {
	n, err := r.queue.fetch(r.fd, until)
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
	from.Addr, from.Port = r.queue.msgs.Source(i)
	return from
}

func (r *udp) wrap(err error) error { return fmt.Errorf("rx %s: %w", r.path, err) }

// Window implements Buffered.
func (r *udp) Window() int { return r.window }

// Drops implements Receiver.
func (r *udp) Drops() (Drops, error) {
	n, err := linux.SocketDrops(r.fd)
	if err != nil {
		return Drops{}, r.wrap(err)
	}
	return Drops{Socket: r.drops.total(n)}, nil
}

// Close implements Receiver; it may be called again.
func (r *udp) Close() error {
	if r.fd < 0 {
		return nil
	}
	fd := r.fd
	r.fd = -1
	return unix.Close(fd)
}
