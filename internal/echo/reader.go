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
	buffer  []byte
	control [64]byte
}

// newReader has room for payloads of so many bytes, and for one more that tells a
// longer one.
func newReader(conn *net.UDPConn, size int) reader {
	return reader{conn: conn, buffer: make([]byte, size+1)}
}
