package echo

import (
	"net"
	"net/netip"
)

// An arrival is one datagram. Its payload is valid until the next is read.
type arrival struct {
	payload []byte
	from    netip.AddrPort
	at      int64 // ns of CLOCK_MONOTONIC
}

// A reader reads a socket one datagram at a time and tells when each came, as early
// as the platform stamps it: what a datagram waits for the reader is no part of the
// network's time. One goroutine owns it.
type reader struct {
	conn    *net.UDPConn
	buffer  [2 * probeSize]byte // what is longer is no probe
	control [64]byte
}
