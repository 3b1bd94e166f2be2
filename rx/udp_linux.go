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
	fd     int
	queue  messageQueue
	clock  stampClock
	window int
	drops  wrapping
}

func probeUDP(*Config) error { return nil }

func openUDP(c *Config) (Receiver, error) {
	r, err := newUDP(c)
	if err != nil {
		return nil, fmt.Errorf("rx udp: %w", err)
	}
	return r, nil
}

func newUDP(c *Config) (*udp, error) {
	s, err := newUDPSocket(c)
	if err != nil {
		return nil, err
	}
	r := &udp{fd: s.fd, queue: newMessageQueue(max(c.Capture, 1))}
	r.window, err = receiveBuffer(s.fd, c.Window)
	if err == nil {
		err = stampArrivals(s.fd)
	}
	if err == nil {
		err = s.bind(c)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Receive implements Receiver.
func (r *udp) Receive(t *track.Tracker, until time.Time) (int, error) {
	n, err := r.queue.fetch(r.fd, until)
	if err != nil {
		return 0, fmt.Errorf("rx udp: %w", err)
	}
	if n == 0 {
		return 0, nil
	}
	r.clock.update()
	for i := range n {
		t.Datagram(r.datagram(i))
	}
	return n, nil
}

// datagram is message i of the batch as the tracker takes it.
func (r *udp) datagram(i int) (p []byte, size int, from probe.Source, at int64) {
	a := r.queue.msgs.Arrival(i)
	from.Addr, from.Port = r.queue.msgs.Source(i)
	return a.Data, a.Len, from, r.clock.monotonic(a.Wall)
}

// Window implements Buffered.
func (r *udp) Window() int { return r.window }

// Drops implements Receiver.
func (r *udp) Drops() (Drops, error) {
	n, err := linux.SocketDrops(r.fd)
	if err != nil {
		return Drops{}, fmt.Errorf("rx udp: %w", err)
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
