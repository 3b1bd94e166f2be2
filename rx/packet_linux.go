package rx

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/rx/track"
)

// packetSocket receives frames with recvmmsg.
type packetSocket struct {
	*raw
	queue  messageQueue
	window int
}

func probePacket(c *Config) error {
	r, err := newPacket(c)
	if err != nil {
		return err
	}
	return r.Close()
}

func openPacket(c *Config) (Receiver, error) {
	r, err := newPacket(c)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func newPacket(c *Config) (*packetSocket, error) {
	raw, err := newRaw("packet", c)
	if err != nil {
		return nil, err
	}
	r := &packetSocket{raw: raw, queue: newMessageQueue(linux.VirtioLen + maxFrame)}
	if err := r.setUp(c); err != nil {
		return nil, errors.Join(r.wrap(err), r.Close())
	}
	return r, nil
}

func (r *packetSocket) setUp(c *Config) (err error) {
	if r.window, err = receiveBuffer(r.fd, c.Window); err != nil {
		return err
	}
	if err := stampArrivals(r.fd); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return fmt.Errorf("setsockopt PACKET_AUXDATA: %w", err)
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
		return fmt.Errorf("setsockopt PACKET_VNET_HDR: %w", err)
	}
	return r.listen()
}

// Receive implements Receiver.
func (r *packetSocket) Receive(t *track.Tracker, until time.Time) (int, error) {
	if err := r.alive(); err != nil {
		return 0, err
	}
	n, err := r.queue.fetch(r.own[:], until)
	if errors.Is(err, unix.EINVAL) { // what Linux before 6.2 has for datagrams that GSO or GRO merged
		r.frames.Superframes++
		return 0, nil
	}
	if err != nil {
		return 0, r.failed(err)
	}
	if n == 0 {
		return 0, nil
	}
	r.down = false
	r.clock.update()
	handed := 0
	for i := range n {
		handed += r.hand(t, r.queue.msgs.Frame(i))
	}
	return handed, nil
}

// Window implements Buffered.
func (r *packetSocket) Window() int { return r.window }

// Drops implements Receiver.
func (r *packetSocket) Drops() (Drops, error) {
	stats, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return Drops{}, r.wrap(fmt.Errorf("getsockopt PACKET_STATISTICS: %w", err))
	}
	r.drops += uint64(stats.Drops) // reading clears it
	return Drops{Socket: r.drops}, nil
}
