// Package gen transmits: a Sender for each kernel path, the table of paths, and
// the worker that paces, sends and counts.
package gen

import (
	"context"
	"net"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/cadence"
)

// A Sender is one transmit queue, owned by one goroutine on its own thread.
type Sender interface {
	// Send stamps and transmits the burst and returns how many of its packets
	// the kernel took for good, in order. A short count without an error means
	// that the kernel refused the next one for now (EAGAIN, ENOBUFS): the
	// caller may offer the rest again.
	Send(pace.Burst) (int, error)
	// Mark transmits one datagram with the given UDP payload on a flow's own
	// addresses: an end marker.
	Mark(flow uint16, payload []byte) error
	// Drain waits until what was taken has left, as far as the path can tell,
	// or until ctx ends, which is an error; the account is right either way.
	Drain(context.Context) (Completed, error)
	Close() error
}

// Completed is what really left, as far as a path can tell.
type Completed struct {
	Packets     uint64
	Refused     uint64 // times that the kernel refused a packet (EAGAIN, ENOBUFS)
	Unreachable uint64 // ICMP errors that came back to a kernel path's sockets, at least so many
}

// A Windower is a Sender that knows its send buffer.
type Windower interface {
	// Window is the SO_SNDBUF of a socket in bytes, as the kernel tells it: it
	// doubles what it is asked for, to pay for its own bookkeeping (socket(7)).
	Window() (int, error)
}

// A Spacer is a Sender that lets the packets of a burst with a Span leave one after
// the other, each when it is due, and watches them leave.
type Spacer interface {
	// Late is how many of them left late so far, as pace.Stats counts it.
	Late() (uint64, error)
	// Departures is how they left; nil if none did.
	Departures() (*cadence.Watch, error)
}

// A Segmenter is a Sender that hands the kernel several packets as one super-frame
// where it takes that (UDP GSO).
type Segmenter interface {
	// Segments is the most packets that left as one so far, 0 or 1 if none did,
	// and whether it has turned out that the kernel takes none.
	Segments() (most int, refused bool)
}

// A Config is what a path needs to open.
type Config struct {
	Interface string // egress interface; may be empty for a kernel path
	IfIndex   int
	Template  *frame.Template // headers, sizes, flows, run, format
	Frame     int             // longest frame in bytes with FCS, for a probe, which has no Template; 0 if not known
	Flow      func(int) bool  // which flows of the template are sent; nil for all
	Batch     int             // most packets of one burst
	Window    int             // SO_SNDBUF asked for, in bytes; 0 leaves the kernel's
	// Sockets are connected UDP sockets, one a flow, that a kernel path sends by;
	// it makes its own where there are none. They stay the caller's, to be closed
	// after the Sender.
	Sockets []*net.UDPConn
	// Fragment lets the kernel send a datagram that no packet has room for in
	// fragments: path udp alone.
	Fragment bool
	// Queue is the transmit queue of the interface, where the path has one to itself.
	Queue int
	// BindDevice keeps a kernel path to Interface whatever the routes say.
	BindDevice bool
	// Bypass sends raw frames past the queueing discipline of the interface
	// (PACKET_QDISC_BYPASS), which saves its lock and its queue. It is for one
	// that only queues: one that shapes was put there to hold us too. A full
	// queue of the device then refuses frames that would have waited.
	Bypass bool
	// NoGSO lets every packet leave alone. Without it a raw path, too, sends bursts
	// as super-frames, and not with Bypass: that loses those which the device can't
	// take apart itself.
	NoGSO bool
	// ZeroCopy lets the driver send from our memory where it can. For that it
	// may set up its queues anew, and the link can drop.
	ZeroCopy bool
}

// has says whether a flow of the template is sent.
func (c *Config) has(flow int) bool { return c.Flow == nil || c.Flow(flow) }

// A Family says whose headers a path sends: the kernel's or ours.
type Family string

const (
	Kernel Family = "kernel"
	Raw    Family = "raw"
)

// A Path is a row of the table of transmit paths.
type Path struct {
	Name   string
	Family Family
	Doc    string // one line for help
	Needs  string // capability or kernel feature, for messages
	// Unqueued says that frames go past the queueing discipline always, one that
	// shapes included.
	Unqueued bool
	// Queue says that a sender has a queue of the interface to itself.
	Queue bool
	// Probe says why the path can't run here, or nil: found by trying, and
	// without a frame on the wire.
	Probe func(*Config) error
	// Trial sends a frame to nobody, where only that tells whether frames leave;
	// nil where Probe says it all.
	Trial func(*Config) error
	Open  func(*Config) (Sender, error)
	// Bulk is how many packets at a time the path needs for its top speed, where a
	// call costs it far more than a packet; 0 where it does not.
	Bulk int
	// Together is how few packets at a time suffice for a rate on a path that spaces
	// the packets of a burst itself, a Spacer; nil where it does not.
	Together func(pps float64) int
}

// Try probes the path, and has its trial if it needs one.
func (p *Path) Try(cfg *Config) error {
	if err := p.Probe(cfg); err != nil || p.Trial == nil {
		return err
	}
	return p.Trial(cfg)
}
