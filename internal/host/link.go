// Package host knows this host: its links, routes and neighbours as the kernel
// has them, its counters, its CPU time and this process's privileges.
//
// On Linux every function speaks of the network namespace of the thread that
// calls it. A caller whose thread stands in another namespace than the rest of
// the process must hold it with runtime.LockOSThread.
package host

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// What this host lacks: the errors of this package wrap these.
var (
	ErrNoInterface = errors.New("no interface")
	ErrNoAddress   = errors.New("is not an address of this host")
	ErrNoRoute     = errors.New("no route")
	ErrNoNeighbour = errors.New("no answer")
)

// A Link is what this host knows of one interface.
type Link struct {
	Index    int
	Name     string
	MTU      int              // IP bytes
	MaxMTU   int              // what the driver allows; 0 if unknown
	MAC      net.HardwareAddr // nil where the link has none
	Ethernet bool             // frames carry an Ethernet header that leaves the host
	Loopback bool
	Up       bool // administratively
	Carrier  bool // the driver has a peer
	// SpeedBps is the speed in bit/s, or 0 if unknown. Links made of software
	// (veth, tun) count as unknown: the figure that they report binds nothing.
	SpeedBps   uint64
	HalfDuplex bool
	Peers      []Peer          // links of this namespace that its frames go through
	Driver     string          // as ethtool -i has it; empty if unknown
	Qdisc      string          // kind of the root qdisc; empty if unknown
	Rings      *Rings          // nil where the driver has none
	TXQueues   int             // transmit queues in use; 0 if unknown
	Offloads   map[string]bool // by the kernel's feature names; nil if unknown
}

// Rings are the descriptor rings of a NIC, in descriptors: now and at most.
type Rings struct {
	RX, RXMax int
	TX, TXMax int
}

// A Peer is a link that another one's frames go through: the link beneath a VLAN,
// the bridge above a port, the other end of a veth pair.
type Peer struct {
	Name string
	MTU  int // IP bytes
}

// Running reports whether frames can pass: up and with a carrier.
func (l *Link) Running() bool { return l.Up && l.Carrier }

// Names returns the names of this host's interfaces in the order of their indexes.
func Names() ([]string, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	names := make([]string, len(ifs))
	for i, ifi := range ifs {
		names[i] = ifi.Name
	}
	return names, nil
}

// noInterface is the error for a name, or a zone, that no interface has. It
// wraps ErrNoInterface and proposes those that there are.
func noInterface(name string) error {
	names, err := Names()
	if err != nil {
		return fmt.Errorf("%w %s", ErrNoInterface, name)
	}
	return fmt.Errorf("%w %s; there are: %s", ErrNoInterface, name, nearest(name, names))
}

// nearest lists the candidates, those that begin most like the name first, and
// no more of them than one line holds.
func nearest(name string, candidates []string) string {
	const most = 8
	likeness := func(c string) int {
		n := 0
		for n < len(c) && n < len(name) && c[n] == name[n] {
			n++
		}
		return n
	}
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(likeness(b), likeness(a)) })
	if len(sorted) <= most {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:most], ", "), len(sorted)-most)
}
