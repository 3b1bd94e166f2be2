package echo

import (
	"crypto/subtle"
	"net"
	"net/netip"

	"linerate/internal/linux"
	"linerate/internal/probe"
)

// tokenOffset is where a probe carries the token: behind what a reflection
// overwrites.
const tokenOffset = probe.ReflectionSize

// A Reflector sends back what one prober sends it. Whoever has another address, or
// does not know the token, gets no answer, and no answer has more bytes than what
// it answers. One goroutine owns it.
type Reflector struct {
	reader reader
	client netip.Addr
	token  []byte
	limit  *Limit // nil for none
	size   int    // of a probe
	answer int    // bytes of it at most
}

// NewReflector reflects by a socket, which stays the caller's, for the prober at an
// address.
func NewReflector(conn *net.UDPConn, client netip.Addr, token []byte) (*Reflector, error) {
	r := &Reflector{
		reader: newReader(conn, probeSize), client: client.Unmap().WithZone(""), token: token, limit: &Limit{},
		size: probeSize, answer: probe.ReflectionSize,
	}
	return r, r.reader.stamp()
}

// NewResponder reflects likewise, but for requests of so many bytes, which it returns
// whole and as fast as they come: who sends them waits for each answer.
func NewResponder(conn *net.UDPConn, client netip.Addr, token []byte, size int) (*Reflector, error) {
	r := &Reflector{
		reader: newReader(conn, size), client: client.Unmap().WithZone(""), token: token, size: size, answer: size,
	}
	return r, r.reader.stamp()
}

// Serve reflects until the socket is closed.
func (r *Reflector) Serve() {
	for {
		if err := r.serve(); err != nil && !passing(err) {
			return
		}
	}
}

// serve takes one datagram.
func (r *Reflector) serve() error {
	a, err := r.reader.read()
	if err != nil {
		return err
	}
	if !r.knows(a) || r.limit != nil && !r.limit.Allow(a.at) {
		return nil
	}
	if probe.Reflect(a.payload, a.at, linux.Monotonic()) == nil {
		return nil
	}
	_, err = r.reader.conn.WriteToUDPAddrPort(a.payload[:r.answer], a.from)
	if err != nil && !passing(err) {
		return nil // a full queue: the prober sees it as lost
	}
	return err
}

// knows reports whether a datagram is of the prober.
func (r *Reflector) knows(a arrival) bool {
	return a.from.Addr().Unmap().WithZone("") == r.client && len(a.payload) == r.size &&
		subtle.ConstantTimeCompare(a.payload[tokenOffset:][:len(r.token)], r.token) == 1
}
