package pmtu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"

	"linerate/internal/checksum"
)

// An Echo sends ICMP echo requests to one host from a raw socket. One goroutine
// owns it.
type Echo struct {
	socket
	cut *cutter // nil over IPv4
	id  uint16
	seq uint16
}

// Types of ICMP messages.
const (
	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129
)

// Open opens an Echo to a host, by an interface if its name is not empty. The
// socket belongs to the calling thread's network namespace. It needs CAP_NET_RAW.
func Open(to netip.Addr, iface string) (*Echo, error) {
	s, err := open(netip.AddrPortFrom(to, 0), iface, unix.SOCK_RAW, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("ICMP echo: %w: needs CAP_NET_RAW", err)
	case err != nil:
		return nil, fmt.Errorf("ICMP echo: %w", err)
	}
	e := &Echo{socket: s, id: uint16(rand.N(1 << 16))}
	if e.v6 {
		if e.cut, err = openCutter(s.fd, s.to.(*unix.SockaddrInet6), iface); err != nil {
			return nil, errors.Join(fmt.Errorf("ICMP echo: %w", err), s.Close())
		}
	}
	return e, nil
}

// Close closes the sockets.
func (e *Echo) Close() error {
	if e.cut != nil {
		return errors.Join(e.socket.Close(), e.cut.close())
	}
	return e.socket.Close()
}

// Send tries one probe. The error is that of ctx or the socket's own; no answer is
// no error.
func (e *Echo) Send(ctx context.Context, p Probe) (Answer, error) {
	e.seq++
	return e.exchange(ctx, p, func() error { return e.request(p) }, func() (int, bool) { return e.reply(p.Size) })
}

// request sends an echo request.
func (e *Echo) request(p Probe) error {
	header, kind := header4, byte(echoRequest4)
	if e.v6 {
		header, kind = header6, echoRequest6
	}
	m := e.buf[:max(p.Size-header, echoHeader)]
	clear(m[:echoHeader])
	m[0] = kind
	binary.BigEndian.PutUint16(m[4:], e.id)
	binary.BigEndian.PutUint16(m[6:], e.seq)
	for i := range m[echoHeader:] {
		m[echoHeader+i] = byte(i)
	}
	if e.v6 && !p.Whole && p.Fragment > 0 {
		return e.cut.send(m, p.Fragment, uint32(e.id)<<16|uint32(e.seq))
	}
	if !e.v6 { // of ICMPv6 the kernel makes the checksum
		binary.BigEndian.PutUint16(m[2:], ^checksum.Fold(checksum.Add(0, m)))
	}
	return e.write(m)
}

// reply reads a message and says whether it is the answer of that size to the last
// request, and how large its largest fragment was.
func (e *Echo) reply(size int) (fragment int, ours bool) {
	n, oobn, _, _, err := unix.Recvmsg(e.fd, e.buf, e.oob, 0)
	if err != nil {
		return 0, false
	}
	m, kind, header := e.buf[:n], byte(echoReply6), header6
	if !e.v6 { // a raw socket of IPv4 shows the IP header
		kind, header = echoReply4, header4
		if n < header4 {
			return 0, false
		}
		m = m[min(int(m[0]&15)*4, n):]
	}
	if len(m) < echoHeader || m[0] != kind || binary.BigEndian.Uint16(m[4:]) != e.id || binary.BigEndian.Uint16(m[6:]) != e.seq ||
		len(m) != max(size-header, echoHeader) {
		return 0, false
	}
	messages, err := unix.ParseSocketControlMessage(e.oob[:oobn])
	if err != nil {
		return 0, true
	}
	for _, c := range messages {
		of4 := c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_RECVFRAGSIZE
		of6 := c.Header.Level == unix.IPPROTO_IPV6 && c.Header.Type == unix.IPV6_RECVFRAGSIZE
		if (of4 || of6) && len(c.Data) >= 4 {
			return int(binary.NativeEndian.Uint32(c.Data)), true
		}
	}
	return 0, true
}
