package pmtu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A socket sends probes of one kind to one host. One goroutine owns it.
type socket struct {
	fd    int
	to    unix.Sockaddr
	v6    bool
	buf   []byte
	oob   []byte
	whole bool // what the socket is set to
}

// open opens a socket to a host, by an interface if its name is not empty: of the
// type and the protocol of its family. It belongs to the calling thread's network
// namespace.
func open(to netip.AddrPort, iface string, kind, proto4, proto6 int) (socket, error) {
	s := socket{v6: to.Addr().Is6(), buf: make([]byte, 1<<17), oob: make([]byte, 1024)}
	domain, proto := unix.AF_INET, proto4
	if s.v6 {
		domain, proto = unix.AF_INET6, proto6
		sa := &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())}
		if zone := to.Addr().Zone(); zone != "" {
			link, err := net.InterfaceByName(zone)
			if err != nil {
				return s, err
			}
			sa.ZoneId = uint32(link.Index)
		}
		s.to = sa
	} else {
		s.to = &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	}
	var err error
	if s.fd, err = unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto); err != nil {
		return s, os.NewSyscallError("socket", err)
	}
	if err := s.setUp(iface); err != nil {
		return s, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *socket) setUp(iface string) error {
	level, recverr, fragments := unix.IPPROTO_IP, unix.IP_RECVERR, unix.IP_RECVFRAGSIZE
	if s.v6 {
		level, recverr, fragments = unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.IPV6_RECVFRAGSIZE
	}
	if err := unix.SetsockoptInt(s.fd, level, recverr, 1); err != nil {
		return os.NewSyscallError("setsockopt RECVERR", err)
	}
	if err := unix.SetsockoptInt(s.fd, level, fragments, 1); err != nil {
		return os.NewSyscallError("setsockopt RECVFRAGSIZE", err)
	}
	if iface != "" {
		if err := unix.SetsockoptString(s.fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, iface); err != nil {
			return os.NewSyscallError("setsockopt BINDTODEVICE", err)
		}
	}
	// Others' packets are not for us: a connected raw socket gets the host's alone.
	if err := unix.Connect(s.fd, s.to); err != nil {
		return os.NewSyscallError("connect", err)
	}
	return s.forbidFragments(true)
}

// forbidFragments sets the DF bit of what follows, whatever the kernel knows of the
// path, or lets the kernel cut up what does not fit it.
func (s *socket) forbidFragments(whole bool) error {
	level, discover, value := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT
	if whole {
		value = unix.IP_PMTUDISC_PROBE
	}
	if s.v6 {
		level, discover = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER // the values are the same
		dont := 0
		if whole {
			dont = 1
		}
		if err := unix.SetsockoptInt(s.fd, level, unix.IPV6_DONTFRAG, dont); err != nil {
			return os.NewSyscallError("setsockopt DONTFRAG", err)
		}
	}
	s.whole = whole
	return os.NewSyscallError("setsockopt MTU_DISCOVER", unix.SetsockoptInt(s.fd, level, discover, value))
}

// PathMTU is what the kernel knows of the path, in bytes of an IP packet.
func (s *socket) PathMTU() (int, error) {
	if s.v6 {
		return unix.GetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
	}
	return unix.GetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_MTU)
}

// Close closes the socket.
func (s *socket) Close() error { return unix.Close(s.fd) }

// exchange tries one probe: send sends it, and reply takes a message and says whether
// it is the answer, and how large its largest fragment was. The error is that of ctx
// or the socket's own; no answer is no error.
func (s *socket) exchange(ctx context.Context, p Probe, send func() error, reply func() (fragment int, ours bool)) (Answer, error) {
	if p.Whole != s.whole {
		if err := s.forbidFragments(p.Whole); err != nil {
			return Answer{}, err
		}
	}
	for s.refusal() != nil { // of an earlier probe
	}
	begun := time.Now()
	if err := send(); err != nil {
		if r := s.refusal(); r != nil {
			return Answer{Refusal: r}, nil
		}
		if errors.Is(err, unix.EMSGSIZE) {
			return Answer{Refusal: &Refusal{}}, nil
		}
		return Answer{}, fmt.Errorf("a probe of %d bytes: %w", p.Size, os.NewSyscallError("send", err))
	}
	for {
		left := p.Patience - time.Since(begun)
		if err := ctx.Err(); err != nil || left <= 0 {
			return Answer{}, err
		}
		const slice = 50 * time.Millisecond
		poll := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(min(left, slice)/time.Millisecond)+1); err != nil && err != unix.EINTR {
			return Answer{}, os.NewSyscallError("poll", err)
		} else if n <= 0 {
			continue
		}
		if r := s.refusal(); r != nil {
			return Answer{Refusal: r}, nil
		}
		if fragment, ours := reply(); ours {
			return Answer{Arrived: true, Fragment: fragment, RTT: time.Since(begun)}, nil
		}
	}
}

// write sends a datagram.
func (s *socket) write(b []byte) error {
	err := unix.Send(s.fd, b, 0)
	for tries := 0; tries < 3 && err != nil && err != unix.EMSGSIZE; tries++ {
		err = unix.Send(s.fd, b, 0) // what the socket had kept from earlier
	}
	return err
}

// refusal takes an error that the kernel kept for the socket and says whether it is
// one of size: struct sock_extended_err of <linux/errqueue.h>.
func (s *socket) refusal() *Refusal {
	_, oobn, _, _, err := unix.Recvmsg(s.fd, s.buf[len(s.buf)/2:], s.oob, unix.MSG_ERRQUEUE)
	if err != nil {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(s.oob[:oobn])
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
