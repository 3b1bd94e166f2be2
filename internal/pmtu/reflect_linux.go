package pmtu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"

	"linerate/internal/probe"
)

// udpHeader is that of UDP, in bytes.
const udpHeader = 8

// Reflections sends probes of UDP to a receiver that reflects. What comes back is
// small whatever the probe's size, and so tells of the way there alone. One
// goroutine owns it.
type Reflections struct {
	socket
	stamp probe.Stamper
	sent  uint64 // probes so far
}

// OpenReflections opens Reflections to a receiver's address and port, by an
// interface if its name is not empty. The socket belongs to the calling thread's
// network namespace.
func OpenReflections(to netip.AddrPort, iface string) (*Reflections, error) {
	s, err := open(to, iface, unix.SOCK_DGRAM, unix.IPPROTO_UDP, unix.IPPROTO_UDP)
	if err != nil {
		return nil, fmt.Errorf("UDP: %w", err)
	}
	return &Reflections{socket: s, stamp: probe.Stamper{Format: probe.Native, Run: uint16(rand.N(1 << 16))}}, nil
}

// Send tries one probe. The error is that of ctx or the socket's own; no answer is
// no error.
func (r *Reflections) Send(ctx context.Context, p Probe) (Answer, error) {
	header := header4
	if r.v6 {
		header = header6
	}
	b := r.buf[:p.Size-header-udpHeader]
	probe.Native.Init(b)
	r.stamp.Put(b, 0, r.sent, 0)
	r.sent++
	return r.exchange(ctx, p, func() error { return r.write(b) }, r.reply)
}

// reply reads a datagram and says whether it is the reflection of the last probe.
func (r *Reflections) reply() (fragment int, ours bool) {
	n, _, err := unix.Recvfrom(r.fd, r.oob, 0)
	if err != nil {
		return 0, false
	}
	a, ok := probe.ParseReflection(r.oob[:n])
	return 0, ok && a.Run == r.stamp.Run && a.Seq == r.sent-1
}
