package rx

import (
	"golang.org/x/sys/unix"

	"linerate/internal/echo"
	"linerate/internal/linux"
	"linerate/internal/probe"
)

// A mirror sends probes back by the socket that they came by.
type mirror struct {
	every uint64 // each whose number is a multiple of it; 0 for none
	limit echo.Limit
	to4   unix.SockaddrInet4 // kept, so that sending allocates nothing
	to6   unix.SockaddrInet6
	sent  uint64
}

// reflect sends an arrival back to its source, if it is a probe and its turn. What
// the kernel refuses is dropped: the network would have done no better.
func (m *mirror) reflect(fd int, a linux.Arrival, from probe.Source, at int64) {
	h, kind := probe.Native.Parse(a.Data)
	if kind != probe.Data || h.Seq%m.every != 0 || !m.limit.Allow(at) {
		return
	}
	answer := probe.Reflect(a.Data, at, linux.Monotonic())
	if unix.Sendto(fd, answer, unix.MSG_DONTWAIT, m.name(from)) == nil {
		m.sent++
	}
}

// name is a source as the kernel takes it on a socket.
func (m *mirror) name(from probe.Source) unix.Sockaddr {
	if mapped := [12]byte{10: 0xff, 11: 0xff}; [12]byte(from.Addr[:12]) == mapped {
		m.to4.Addr, m.to4.Port = [4]byte(from.Addr[12:]), int(from.Port)
		return &m.to4
	}
	m.to6.Addr, m.to6.Port = from.Addr, int(from.Port)
	return &m.to6
}
