// Package rx receives: a Receiver for each kernel path, the table of paths, and
// the worker that receives, checks and tracks.
package rx

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/probe"
	"linerate/rx/track"
)

// A Receiver is one receive queue; it hands what arrives to the tracker. One
// goroutine owns it, on its own thread if the test is to keep its pace.
type Receiver interface {
	// Receive hands arrivals to t until at least one batch has come or the
	// time has passed, and returns how many datagrams it handed over.
	//
	// On a raw path the error is ENETDOWN, once, when the interface goes down:
	// Receive may go on and sees what comes when it is up again. It is ENODEV,
	// each time, when the interface was removed.
	Receive(t *track.Tracker, until time.Time) (int, error)
	// Drops is what the kernel lost at this socket or ring since it opened. The
	// kernel counts in 32 bits: ask at least once in 2^32 drops. The error is
	// errors.ErrUnsupported where the platform does not tell.
	Drops() (Drops, error)
	Close() error
}

// A Counter is a Receiver that counts inside the kernel. Receive brings the tracker
// up to what was counted by then.
type Counter interface {
	Receiver
	// Settle ends the count and brings the tracker all that it needs to finish.
	Settle(t *track.Tracker) error
}

// Drops is what the kernel lost for want of room at the receiving socket or ring.
// Merged datagrams count as one: it does not look into what it drops.
type Drops struct {
	// Socket counts datagrams that found the receive buffer full. A UDP
	// socket's number holds those with a wrong checksum, too, which the host
	// counts as InCsumErrors: the kernel has one counter for both.
	Socket  uint64
	Program uint64 // ring full, or a flow that other CPUs kept busy; before Linux 6.2 also frames of datagrams that GSO or GRO merged
}

// A Buffered is a Receiver with a socket buffer.
type Buffered interface {
	// Window is the buffer that the kernel gave, in its own bytes: twice
	// Config.Window if that was granted in full (socket(7), SO_RCVBUF). It is 0
	// where there turns out to be none.
	Window() int
}

// A Mirror is a Receiver that can send probes back.
type Mirror interface {
	// Reflected is how many it sent back.
	Reflected() uint64
}

// A Framed is a Receiver that sees whole frames, the raw paths, and so what a
// UDP socket does not show.
type Framed interface {
	Frames() Frames
}

// A Noted is a Receiver of which the report has to say how it runs.
type Noted interface {
	Note() string // one line; empty for nothing
}

// Frames counts frames to the port, by what was special about them.
type Frames struct {
	Tagged    uint64 // had an 802.1Q tag
	TCI       uint16 // the tag of the last of them: priority 3 bits, DEI 1, VLAN id 12
	Fragments uint64 // first fragments: datagrams that count as arrived, whatever became of their rest
	// BeyondFlows are foreign, as the path has no room for flows of such numbers.
	BeyondFlows uint64

	// These were not handed to the tracker.
	Superframes uint64 // datagrams that GSO or GRO merged, captured in part and so not taken apart
	BadChecksum uint64 // wrong UDP checksum; only with Config.Verify
	Malformed   uint64 // lengths that contradict each other
}

// A Splitter is a Receiver that takes merged datagrams apart: all but a plain UDP
// socket, for which the kernel does that.
type Splitter interface {
	Merged() Merged
}

// Merged counts what came merged and was taken apart.
type Merged struct {
	Frames    uint64 // super-frames, or messages of a UDP socket, that GSO left whole or GRO made
	Datagrams uint64 // that they held; each was handed to the tracker
}

func (f *Frames) add(o Frames) {
	f.Tagged += o.Tagged
	if o.Tagged > 0 {
		f.TCI = o.TCI
	}
	f.Fragments += o.Fragments
	f.BeyondFlows += o.BeyondFlows
	f.Superframes += o.Superframes
	f.BadChecksum += o.BadChecksum
	f.Malformed += o.Malformed
}

// A Config is what a path needs to open.
type Config struct {
	Interface string         // for raw paths; empty where a kernel path takes any, else it hears this one alone
	IfIndex   int            // of Interface
	Local     netip.AddrPort // where to listen; 0.0.0.0 for any IPv4 address, :: for any at all
	Ports     int            // ports in a row from Local's on; 0 for this one alone
	Filter    Filter         // what counts of what comes there
	IPv6Only  bool           // with :: as Local, no IPv4
	// Sockets are connected UDP sockets that a kernel path reads in place of one of
	// its own at Local; SocketSource is where what comes by one of them comes from. A
	// raw path lets them drop what it sees itself. They stay the caller's, to be closed
	// after the Receiver.
	Sockets []*net.UDPConn
	Window  int    // SO_RCVBUF asked for, in bytes; 0 leaves the kernel's
	Capture int    // payload bytes that the tracker wants to see of each datagram
	Verify  bool   // raw paths capture whole frames and check the UDP checksums that the kernel did not
	Most    uint64 // packets that a Counter counts; 0 for no limit
	// Reflect lets a path that Reflects send back the probes whose number is a
	// multiple of it, as far as echo.Budget goes; 0 for none. Local is one address
	// then: a group's or a broadcast's would draw answers from many hosts.
	Reflect int

	group *group // that flows are spread over; nil for one receiver alone
}

// SocketSource is the source of datagrams that come by the i-th of Config.Sockets:
// its peer's address, and i in place of a port. Several sockets may have one peer.
func SocketSource(c *net.UDPConn, i int) probe.Source {
	peer := c.RemoteAddr().(*net.UDPAddr).AddrPort()
	return probe.Source{Addr: peer.Addr().As16(), Port: uint16(i)}
}

// versions are the IP versions to listen to.
func (c *Config) versions() (ipv4, ipv6 bool) {
	addr := c.Local.Addr().Unmap()
	anywhere := !addr.IsValid() || addr.IsUnspecified() && addr.Is6()
	return addr.Is4() || anywhere && !c.IPv6Only, addr.Is6() || anywhere
}

// bothVersions refuses one IP version alone where no address says which.
func (c *Config) bothVersions() error {
	addr := c.Local.Addr().Unmap()
	if ipv4, ipv6 := c.versions(); ipv4 != ipv6 && addr.IsUnspecified() {
		return errors.New("counts both IP versions at once: name an address, or use another --rx")
	}
	return nil
}

// A Path is a row of the table of receive paths.
type Path struct {
	Name  string
	Doc   string
	Needs string
	// Takes is of paths that take the datagrams away: nothing else of this host
	// gets them.
	Takes bool
	// InKernel paths are Counters. They know the native format alone, and look at
	// no payloads behind its header.
	InKernel bool
	// Reflects is of paths that can send probes back.
	Reflects bool
	// Spreads is of paths that several threads can share (OpenFan).
	Spreads bool
	Probe   func(*Config) error
	Open    func(*Config) (Receiver, error)
}

// Names lists the receive paths of this platform in the order of the table.
func Names() []string {
	names := make([]string, len(Paths))
	for i := range Paths {
		names[i] = Paths[i].Name
	}
	return names
}

// Find returns the row of the table that has the name.
func Find(name string) (*Path, error) {
	for i := range Paths {
		if Paths[i].Name == name {
			return &Paths[i], nil
		}
	}
	return nil, fmt.Errorf("no receive path %q here; there is %s", name, strings.Join(Names(), ", "))
}
