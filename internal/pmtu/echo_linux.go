package pmtu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An Echo sends ICMP echo requests to one host from a raw socket. One goroutine
// owns it.
type Echo struct {
	fd    int
	cut   *cutter // nil over IPv4
	to    unix.Sockaddr
	v6    bool
	id    uint16
	seq   uint16
	buf   []byte
	oob   []byte
	whole bool // what the socket is set to
}

// Types of ICMP messages.
const (
	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129
)

// Open opens an Echo to a host, by an interface if its name is not empty. The
// socket belongs to the calling thread's network namespace. It needs CAP_NET_RAW.
func Open(to netip.Addr, iface string) (*Echo, error) {
	e := &Echo{v6: to.Is6(), id: uint16(rand.N(1 << 16)), buf: make([]byte, 1<<17), oob: make([]byte, 1024)}
	domain, proto := unix.AF_INET, unix.IPPROTO_ICMP
	e.to = &unix.SockaddrInet4{Addr: [4]byte{}}
	if e.v6 {
		domain, proto = unix.AF_INET6, unix.IPPROTO_ICMPV6
		sa := &unix.SockaddrInet6{Addr: to.As16()}
		if zone := to.Zone(); zone != "" {
			link, err := net.InterfaceByName(zone)
			if err != nil {
				return nil, err
			}
			sa.ZoneId = uint32(link.Index)
		}
		e.to = sa
	} else {
		e.to = &unix.SockaddrInet4{Addr: to.As4()}
	}
	var err error
	if e.fd, err = unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto); err != nil {
		return nil, fmt.Errorf("ICMP echo: %w: needs CAP_NET_RAW", os.NewSyscallError("socket", err))
	}
	if err := e.setUp(iface); err != nil {
		return nil, errors.Join(fmt.Errorf("ICMP echo: %w", err), e.Close())
	}
	return e, nil
}

func (e *Echo) setUp(iface string) error {
	level, recverr, fragments := unix.IPPROTO_IP, unix.IP_RECVERR, unix.IP_RECVFRAGSIZE
	if e.v6 {
		level, recverr, fragments = unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.IPV6_RECVFRAGSIZE
	}
	if err := unix.SetsockoptInt(e.fd, level, recverr, 1); err != nil {
		return os.NewSyscallError("setsockopt RECVERR", err)
	}
	if err := unix.SetsockoptInt(e.fd, level, fragments, 1); err != nil {
		return os.NewSyscallError("setsockopt RECVFRAGSIZE", err)
	}
	if iface != "" {
		if err := unix.SetsockoptString(e.fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, iface); err != nil {
			return os.NewSyscallError("setsockopt BINDTODEVICE", err)
		}
	}
	// Others' packets are not for us: a connected raw socket gets the host's alone.
	if err := unix.Connect(e.fd, e.to); err != nil {
		return os.NewSyscallError("connect", err)
	}
	if e.v6 {
		source, err := unix.Getsockname(e.fd)
		if err != nil {
			return os.NewSyscallError("getsockname", err)
		}
		if e.cut, err = openCutter(source.(*unix.SockaddrInet6), e.to.(*unix.SockaddrInet6), iface); err != nil {
			return err
		}
	}
	return e.forbidFragments(true)
}

// forbidFragments sets the DF bit of what follows, whatever the kernel knows of the
// path, or lets the kernel cut up what does not fit it.
func (e *Echo) forbidFragments(whole bool) error {
	level, discover, value := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT
	if whole {
		value = unix.IP_PMTUDISC_PROBE
	}
	if e.v6 {
		level, discover = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER // the values are the same
		dont := 0
		if whole {
			dont = 1
		}
		if err := unix.SetsockoptInt(e.fd, level, unix.IPV6_DONTFRAG, dont); err != nil {
			return os.NewSyscallError("setsockopt DONTFRAG", err)
		}
	}
	e.whole = whole
	return os.NewSyscallError("setsockopt MTU_DISCOVER", unix.SetsockoptInt(e.fd, level, discover, value))
}

// PathMTU is what the kernel knows of the path, in bytes of an IP packet.
func (e *Echo) PathMTU() (int, error) {
	if e.v6 {
		return unix.GetsockoptInt(e.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
	}
	return unix.GetsockoptInt(e.fd, unix.IPPROTO_IP, unix.IP_MTU)
}

// Close closes the sockets.
func (e *Echo) Close() error {
	if e.cut != nil {
		return errors.Join(unix.Close(e.fd), e.cut.close())
	}
	return unix.Close(e.fd)
}

// Send tries one probe. The error is that of ctx or the socket's own; no answer is
// no error.
func (e *Echo) Send(ctx context.Context, p Probe) (Answer, error) {
	if p.Whole != e.whole {
		if err := e.forbidFragments(p.Whole); err != nil {
			return Answer{}, err
		}
	}
	for e.refusal() != nil { // of an earlier probe
	}
	e.seq++
	begun := time.Now()
	if err := e.request(p); err != nil {
		if r := e.refusal(); r != nil {
			return Answer{Refusal: r}, nil
		}
		if errors.Is(err, unix.EMSGSIZE) {
			return Answer{Refusal: &Refusal{}}, nil
		}
		return Answer{}, fmt.Errorf("ICMP echo: %w", os.NewSyscallError("send", err))
	}
	for {
		left := p.Patience - time.Since(begun)
		if err := ctx.Err(); err != nil || left <= 0 {
			return Answer{}, err
		}
		const slice = 50 * time.Millisecond
		poll := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(min(left, slice)/time.Millisecond)+1); err != nil && err != unix.EINTR {
			return Answer{}, os.NewSyscallError("poll", err)
		} else if n <= 0 {
			continue
		}
		if r := e.refusal(); r != nil {
			return Answer{Refusal: r}, nil
		}
		if fragment, ours := e.reply(p.Size); ours {
			return Answer{Arrived: true, Fragment: fragment, RTT: time.Since(begun)}, nil
		}
	}
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
		binary.BigEndian.PutUint16(m[2:], checksum(m))
	}
	err := unix.Send(e.fd, m, 0)
	for tries := 0; tries < 3 && err != nil && err != unix.EMSGSIZE; tries++ {
		err = unix.Send(e.fd, m, 0) // what the socket had kept from earlier
	}
	return err
}

// checksum is the Internet checksum (RFC 1071).
func checksum(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		s += uint32(b[len(b)-1]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
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

// refusal takes an error that the kernel kept for the socket and says whether it is
// one of size: struct sock_extended_err of <linux/errqueue.h>.
func (e *Echo) refusal() *Refusal {
	_, oobn, _, _, err := unix.Recvmsg(e.fd, e.buf[len(e.buf)/2:], e.oob, unix.MSG_ERRQUEUE)
	if err != nil {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(e.oob[:oobn])
	if err != nil {
		return nil
	}
	for _, c := range messages {
		of4 := c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_RECVERR
		of6 := c.Header.Level == unix.IPPROTO_IPV6 && c.Header.Type == unix.IPV6_RECVERR
		const extended = 16
		if !of4 && !of6 || len(c.Data) < extended || unix.Errno(binary.NativeEndian.Uint32(c.Data)) != unix.EMSGSIZE {
			continue
		}
		r := &Refusal{MTU: int(binary.NativeEndian.Uint32(c.Data[8:]))}
		if origin := c.Data[4]; origin == unix.SO_EE_ORIGIN_ICMP || origin == unix.SO_EE_ORIGIN_ICMP6 {
			r.From = offender(c.Data[extended:])
		}
		return r
	}
	return nil
}

// offender is the address of a struct sockaddr: who sent an ICMP error.
func offender(sa []byte) netip.Addr {
	if len(sa) >= 8 && binary.NativeEndian.Uint16(sa) == unix.AF_INET {
		return netip.AddrFrom4([4]byte(sa[4:8]))
	}
	if len(sa) >= 24 && binary.NativeEndian.Uint16(sa) == unix.AF_INET6 {
		return netip.AddrFrom16([16]byte(sa[8:24]))
	}
	return netip.Addr{}
}
