package tcp

import (
	"fmt"
	"net"
	"time"
)

// Options are what a test asks of its sockets. The zero value asks for nothing
// but Nagle's algorithm, which Go would switch off.
type Options struct {
	// Window is SO_SNDBUF and SO_RCVBUF in bytes; 0 leaves both to the kernel,
	// which then tunes them itself. Linux gives twice what is asked, for its own
	// bookkeeping (socket(7)), and without CAP_NET_ADMIN no more than
	// net.core.wmem_max and rmem_max.
	Window int
	// MSS is the largest segment in bytes of payload and TCP options
	// (TCP_MAXSEG of tcp(7)); 0 leaves it to the path's MTU. It is agreed on
	// during the handshake: an accepted connection has its listener's.
	MSS int
	// Congestion is the congestion control by the kernel's name, such as
	// "cubic"; empty for the system's.
	Congestion string
	// NoDelay sends small segments at once (TCP_NODELAY).
	NoDelay bool
	// TOS is the traffic class octet, DSCP in its upper six bits; TCP keeps the
	// lower two for ECN. 0 leaves it alone.
	TOS uint8
	// TTL is the time to live or hop limit, 1 to 255; 0 for the system's.
	TTL int
	// Pace is the most bytes per second that the kernel lets leave
	// (SO_MAX_PACING_RATE), headers of IP and TCP included; 0 for no bound.
	Pace uint64
	// Device is the interface to use whatever the routes say (SO_BINDTODEVICE).
	Device string
	// IPv6Only keeps a listener at IPv6's unspecified address from IPv4.
	IPv6Only bool
	// UserTimeout ends a connection whose data stays unacknowledged for so long
	// (TCP_USER_TIMEOUT, RFC 5482), in whole milliseconds; 0 for the system's.
	UserTimeout time.Duration
}

// Apply sets the options on an accepted connection. What is settled during the
// handshake, the MSS and the scale of the window, stays as the listener had it.
func Apply(conn *net.TCPConn, o Options) error {
	if err := onSocket(conn, o.set); err != nil {
		return err
	}
	return o.settle(conn)
}

// settle sets what Go sets by itself on every new connection.
func (o *Options) settle(conn *net.TCPConn) error {
	if err := conn.SetNoDelay(o.NoDelay); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return o.later(conn)
}
