//go:build !linux

package rx

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// udp is a UDP socket, or several that are read in turn, one datagram at a time.
type udp struct {
	conns    []*net.UDPConn
	borrowed bool // the sockets are the caller's, who closes them
	turn     int  // the socket that is read next
	filter   Filter
	buffer   [1 << 16]byte // any datagram fits
}

// share is how long one of several sockets is waited for.
const share = time.Millisecond

func probeUDP(*Config) error { return nil }

func openUDP(c *Config) (Receiver, error) {
	if c.Filter.DSCP != nil {
		return nil, fmt.Errorf("rx udp: the DSCP of what a socket receives: %w", errors.ErrUnsupported)
	}
	r := &udp{filter: c.Filter}
	if r.borrowed = len(c.Sockets) > 0; r.borrowed {
		r.conns = c.Sockets
		return r, nil
	}
	for i := range c.ports() {
		conn, err := listen(c.at(i))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("rx udp: %w", err), r.Close())
		}
		r.conns = append(r.conns, conn)
	}
	return r, nil
}

// listen opens a socket on one port.
func listen(c *Config) (*net.UDPConn, error) {
	addr := net.UDPAddrFromAddrPort(c.Local)
	var conn *net.UDPConn
	var err error
	if c.Local.Addr().IsMulticast() {
		var iface *net.Interface // nil: the system chooses
		if c.Interface != "" {
			if iface, err = net.InterfaceByName(c.Interface); err != nil {
				return nil, fmt.Errorf("interface %s: %w", c.Interface, err)
			}
		}
		conn, err = net.ListenMulticastUDP("udp", iface, addr)
	} else {
		conn, err = net.ListenUDP("udp", addr)
	}
	if err != nil {
		return nil, err
	}
	if c.Window > 0 {
		if err := conn.SetReadBuffer(c.Window); err != nil {
			return nil, errors.Join(fmt.Errorf("receive buffer of %d bytes: %w", c.Window, err), conn.Close())
		}
	}
	return conn, nil
}

// Receive implements Receiver. A batch is one datagram.
func (r *udp) Receive(t *track.Tracker, until time.Time) (int, error) {
	for {
		n, err := r.receive(t, until)
		if n > 0 || err != nil || !time.Now().Before(until) {
			return n, err
		}
	}
}

// receive reads one socket.
func (r *udp) receive(t *track.Tracker, until time.Time) (int, error) {
	i := r.turn
	conn := r.conns[i]
	r.turn = (r.turn + 1) % len(r.conns)
	if soon := time.Now().Add(share); len(r.conns) > 1 && soon.Before(until) {
		until = soon
	}
	if err := conn.SetReadDeadline(until); err != nil {
		return 0, fmt.Errorf("rx udp: %w", err)
	}
	n, from, err := conn.ReadFromUDPAddrPort(r.buffer[:])
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNREFUSED) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("rx udp: %w", err)
	}
	source := probe.Source{Addr: from.Addr().As16(), Port: from.Port()}
	if r.borrowed {
		source = SocketSource(conn, i)
	}
	if !r.filter.takes(source, 0) {
		return 0, nil
	}
	t.Datagram(r.buffer[:n], n, source, linux.Monotonic())
	return 1, nil
}

// Drops implements Receiver.
func (r *udp) Drops() (Drops, error) {
	return Drops{}, fmt.Errorf("rx udp: drops of a socket: %w", errors.ErrUnsupported)
}

// Close implements Receiver.
func (r *udp) Close() error {
	if r.borrowed {
		return nil
	}
	var errs []error
	for _, c := range r.conns {
		errs = append(errs, c.Close())
	}
	r.conns = nil
	return errors.Join(errs...)
}
