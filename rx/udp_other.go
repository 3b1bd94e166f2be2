//go:build !linux

package rx

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// udp is a UDP socket, read one datagram at a time.
type udp struct {
	conn   *net.UDPConn
	buffer [1 << 16]byte // any datagram fits
}

func probeUDP(*Config) error { return nil }

func openUDP(c *Config) (Receiver, error) {
	addr := net.UDPAddrFromAddrPort(c.Local)
	var conn *net.UDPConn
	var err error
	if c.Local.Addr().IsMulticast() {
		var iface *net.Interface // nil: the system chooses
		if c.Interface != "" {
			if iface, err = net.InterfaceByName(c.Interface); err != nil {
				return nil, fmt.Errorf("rx udp: interface %s: %w", c.Interface, err)
			}
		}
		conn, err = net.ListenMulticastUDP("udp", iface, addr)
	} else {
		conn, err = net.ListenUDP("udp", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("rx udp: %w", err)
	}
	if c.Window > 0 {
		if err := conn.SetReadBuffer(c.Window); err != nil {
			return nil, errors.Join(fmt.Errorf("rx udp: receive buffer of %d bytes: %w", c.Window, err), conn.Close())
		}
	}
	return &udp{conn: conn}, nil
}

// Receive implements Receiver. A batch is one datagram.
func (r *udp) Receive(t *track.Tracker, until time.Time) (int, error) {
	if err := r.conn.SetReadDeadline(until); err != nil {
		return 0, fmt.Errorf("rx udp: %w", err)
	}
	n, from, err := r.conn.ReadFromUDPAddrPort(r.buffer[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("rx udp: %w", err)
	}
	source := probe.Source{Addr: from.Addr().As16(), Port: from.Port()}
	t.Datagram(r.buffer[:n], n, source, linux.Monotonic())
	return 1, nil
}

// Drops implements Receiver.
func (r *udp) Drops() (Drops, error) {
	return Drops{}, fmt.Errorf("rx udp: drops of a socket: %w", errors.ErrUnsupported)
}

// Close implements Receiver.
func (r *udp) Close() error { return r.conn.Close() }
