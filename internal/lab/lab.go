// Package lab makes hosts on this machine to run tests between: network
// namespaces joined by veth pairs, and on request a bad wire, a narrow wire or a
// router between them.
//
//	a eth0 ----------------- eth0 b    direct
//	a eth0 --- ma m mb ----- eth0 b    Impair, Reverse or Shape: m redirects by eBPF
//	a eth0 --- ma m mb ----- eth0 b    Router: m routes between two subnets
//
// A fault has to sit in the middle to be one of the wire: a drop on the sender's
// own interface comes back to it as ENOBUFS, is skipped by PACKET_QDISC_BYPASS,
// or falls behind its AF_PACKET taps.
//
// The namespaces have no name and nothing of a lab is ever seen on the machine
// itself. A lab is held by its process alone, and goes with it, also on SIGKILL;
// any number can live at once with the same addresses.
package lab

import (
	"net"
	"net/netip"
	"time"

	"linerate/bpf"
)

// An Impairment is what a bad wire does in one direction.
type Impairment = bpf.Impairment

// ImpairCounts is what a bad wire did in one direction.
type ImpairCounts = bpf.ImpairCounts

// A Config says what stands between a and b. The zero value joins them directly.
type Config struct {
	// MTU is that of every interface, in bytes of an IP packet; 0 is 1500.
	MTU int
	// Impair spoils what goes from a to b, Reverse what goes from b to a.
	Impair, Reverse *Impairment
	// Delay is how long a datagram that DelayEvery picks is held; if neither
	// direction has one, every frame of both.
	Delay time.Duration
	// Shape narrows both directions.
	Shape Shape
	// Router puts a router in the middle, with a subnet on either side. It
	// can't be had together with an impairment.
	Router bool
	// FinishedChecksums makes a and b finish checksums in software, so that
	// captures show them whole. CorruptEvery without MendChecksum implies it:
	// an unfinished checksum can't be wrong.
	FinishedChecksums bool
}

// A Shape is a token bucket filter (tc-tbf(8)) on the way out of the middle host.
type Shape struct {
	// Rate is in bit/s of Ethernet frames without FCS; 0 is no shape.
	Rate uint64
	// Burst is how many bytes pass at once after a pause; 0 is 1 ms at Rate,
	// but no less than two full frames.
	Burst uint32
	// Limit is how many bytes can wait; more are dropped. 0 is 100 full frames.
	Limit uint32
}

// A Host is one host of a lab.
type Host struct {
	Name      string           // "a", "b" or "m"
	Interface string           // "eth0"; of m "ma", its interface to a
	MAC       net.HardwareAddr // of Interface
	// Addr4, Addr6 and LinkLocal are the addresses of Interface, the last
	// without a zone. A middle host that is no router has none.
	Addr4, Addr6, LinkLocal netip.Addr

	namespace
}

// A Lab is two hosts and what is between them.
type Lab struct {
	a, b, m *Host
	middle
}

// A is the host at 10.77.0.1 and fd77::1; behind a router at 10.77.1.1 and
// fd77:1::1.
func (l *Lab) A() *Host { return l.a }

// B is the host at 10.77.0.2 and fd77::2; behind a router at 10.77.2.1 and
// fd77:2::1.
func (l *Lab) B() *Host { return l.b }

// Middle is the host between a and b, with the interfaces ma and mb, or nil where
// they are joined directly.
func (l *Lab) Middle() *Host { return l.m }
