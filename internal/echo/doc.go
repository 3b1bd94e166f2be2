// Package echo measures round trips: a Prober sends native probes at a modest rate
// over a UDP socket of its own, beside the load of a test, and a Reflector at the
// other end sends them back. No clock has to agree with another: what a round trip
// took is read from the prober's clock alone, and what the reflector kept the probe
// for from the reflector's alone.
package echo

import (
	"crypto/rand"
	"errors"
	"net"
	"os"
	"syscall"
)

// TokenSize is the bytes of the secret by which a reflector knows its probes.
const TokenSize = 16

// NewToken draws one.
func NewToken() []byte {
	token := make([]byte, TokenSize)
	rand.Read(token) // never fails
	return token
}

// MostRate is the most probes that a prober may send each second: a few that the
// network holds up and lets go together are within a reflector's budget then.
const MostRate = Budget / 2

// Budget is how many probes a reflector sends back each second, at most. What
// comes beyond that is not answered.
const Budget = 10_000

// probeSize is the payload of a probe: its header, room for the reflector's times,
// and the token.
const probeSize = tokenOffset + TokenSize

// passing reports whether a socket may be used on after an error: an ICMP message
// that answers what was sent before.
func passing(err error) bool {
	return err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) &&
		(errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH))
}
