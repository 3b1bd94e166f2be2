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

// gro is a UDP socket that takes datagrams as GSO left them or GRO merged them, up
// to 64 KiB in one message. They pass the kernel once, for one copy of all of the
// payload. All of a message have one stamp, so that they vary in delay by as much
// as merging held them up.
type gro struct {
	*udp
	merged Merged
}

func probeGRO(*Config) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("rx gro: open a UDP socket: %w", err)
	}
	defer unix.Close(fd)
	if err := askMerged(fd); err != nil {
		return fmt.Errorf("rx gro: %w", err)
	}
	return nil
}

// askMerged lets the kernel hand over several datagrams as one message, and say
// how long they are.
func askMerged(fd int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return errors.New("this kernel has no UDP_GRO (Linux 5.0); use --rx udp")
	}
	if err != nil {
		return fmt.Errorf("setsockopt UDP_GRO: %w", err)
	}
	return nil
}

func openGRO(c *Config) (Receiver, error) {
	u, err := newUDP("gro", c, maxFrame)
	if err != nil {
		return nil, err
	}
	for _, fd := range u.fds {
		if err := askMerged(fd); err != nil {
			return nil, errors.Join(u.wrap(err), u.Close())
		}
	}
	return &gro{udp: u}, nil
}

// Receive implements Receiver.
func (r *gro) Receive(t *track.Tracker, until time.Time) (int, error) {
	return r.receive(until, func(a linux.Arrival, from probe.Source) int {
		return r.merged.hand(t, a.Data, a.Len, a.Segment, from, r.clock.monotonic(a.Wall))
	})
}

// Merged implements Splitter.
func (r *gro) Merged() Merged { return r.merged }
