package rx

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// dropAll is the socket filter that lets nothing in.
var dropAll = []bpf.RawInstruction{{Op: unix.BPF_RET | unix.BPF_K}}

// attach gives a socket a filter, in place of one that it may have.
func attach(fd int, program []bpf.RawInstruction) error {
	filter := make([]unix.SockFilter, len(program))
	for i, p := range program {
		filter[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err != nil {
		return fmt.Errorf("setsockopt SO_ATTACH_FILTER: %w", err)
	}
	return nil
}

// bind binds a UDP socket to the port of its group, between whose sockets the
// kernel chooses by a hash of addresses and ports (SO_REUSEPORT of socket(7)). Those
// of the first receiver have to find their ports free: another program may share its
// own alike.
func (g *group) bind(s udpSocket, c *Config) error {
	if err := attach(s.fd, dropAll); err != nil {
		return err
	}
	if g.joined > 0 {
		if err := shareable(s.fd); err != nil {
			return err
		}
	}
	if err := s.bind(c); err != nil {
		return err
	}
	return shareable(s.fd)
}

func shareable(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return fmt.Errorf("setsockopt SO_REUSEPORT: %w", err)
	}
	return nil
}

// join makes a packet socket that is bound one of its group, between whose sockets
// the kernel chooses by a hash of addresses and ports (PACKET_FANOUT_HASH of
// packet(7)). The first gets an id that nobody else has.
func (g *group) join(fd int) error {
	mode := unix.PACKET_FANOUT_HASH
	if g.joined == 0 {
		mode |= unix.PACKET_FANOUT_FLAG_UNIQUEID
	}
	err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, g.id|mode<<16)
	if err == nil && g.joined == 0 {
		g.id, err = unix.GetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
		g.id &= 0xffff // the mode stands above
	}
	if err != nil {
		return fmt.Errorf("PACKET_FANOUT: %w", err)
	}
	g.joined++
	return nil
}

// admit implements spreadable. What the filter dropped before is not counted.
func (r *udp) admit() error {
	for i, fd := range r.fds {
		n, err := linux.SocketDrops(fd)
		if err == nil {
			r.drops[i] = wrapping{last: n}
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
		}
		if err != nil {
			return r.wrap(fmt.Errorf("begin to listen: %w", err))
		}
	}
	return nil
}

// admit implements spreadable.
func (r *raw) admit() error {
	if err := attach(r.fd, r.program); err != nil {
		return r.wrap(err)
	}
	return nil
}
