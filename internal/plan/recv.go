package plan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/host"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/rx"
	"linerate/rx/track"
)

// A RecvRequest is what was asked of recv. Zero values stand for what was not
// given.
type RecvRequest struct {
	Addr   string // ADDR, :PORT or ADDR:PORT; empty or * for any address
	Port   int    // where Addr names none
	V4, V6 bool
	Iface  string

	From   netip.Prefix // source addresses that count; invalid for any
	Filter Filter       // what else has to be so of what counts
	Ports  int          // ports in a row to listen on where Filter names none; 0 for one

	RX        string // a name of rx.Paths, or auto
	Window    int    // SO_RCVBUF in bytes
	Format    probe.Format
	Verify    bool
	Pattern   probe.Pattern // that Verify expects
	Histogram bool          // see Receive
	Reflect   int           // sends back the probes whose number is a multiple of it; 0 for none

	Threads  int   // workers; AutoThreads for one a processor, where flows can be spread
	CPUs     []int // that they run on
	Realtime bool  // priority of theirs before all ordinary ones

	Duration time.Duration
	Count    uint64
	Silence  time.Duration // how long a sender may say nothing before it counts as gone
	Drain    time.Duration // how long to wait for stragglers
}

// A Receive is the plan of a receiver: all that its session needs.
type Receive struct {
	Path     *rx.Path
	Config   rx.Config
	Track    track.Config
	Workers  int
	Limits   rx.Limits
	Report   result.Config // what the report says of it
	Warnings []string
	// Histogram lets the report hold the distribution of delay itself.
	Histogram bool
	Warmup    bool           // what comes before the test counts has flows of its own: see SendRequest
	Streams   []probe.Source // of a coordinated test, in their order; intervals tell of each
	Interval  time.Duration  // between lines of the report, set by the caller; 0 for none
	Omit      time.Duration  // at the start, which no total holds; set by a coordinated test
}

// ResolveReceive plans a receiver. The errors are UsageError, HostError,
// PeerError for a name that does not resolve, or that of ctx. Whether the port
// is free shows when the path is opened.
func ResolveReceive(ctx context.Context, r RecvRequest) (*Receive, error) {
	l, err := r.listener(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkFilter(l.local); err != nil {
		return nil, err
	}
	p := &Receive{
		Config: rx.Config{
			Local: l.local, Ports: max(r.Ports, r.Filter.DstPorts.N), Filter: r.filter(), IPv6Only: r.V6,
			Window: r.Window, Verify: r.Verify, Most: r.Count, Reflect: r.Reflect,
		},
		Track:  track.Config{Format: r.Format, Most: r.Count, Selected: r.selects(), WallOffset: linux.WallOffset()},
		Limits: rx.Limits{Duration: r.Duration, Packets: r.Count, Silence: r.Silence, Drain: r.Drain},
	}
	p.Histogram = r.Histogram
	if r.Verify {
		p.Track.Pattern = &r.Pattern
	}
	p.Config.Capture = p.Track.Capture()
	if err := p.choosePath(r.RX, l); err != nil {
		return nil, err
	}
	if err := p.reflecting(l); err != nil {
		return nil, err
	}
	if err := p.workers(&r); err != nil {
		return nil, err
	}
	p.Report = result.Config{
		Threads:     p.Workers,
		CPUs:        r.CPUs,
		Realtime:    r.Realtime,
		Protocol:    "udp",
		RX:          p.Path.Name,
		Peer:        "none",
		Direction:   "forward",
		Format:      r.Format.String(),
		Interface:   p.Config.Interface,
		Destination: l.local.String(),
		DurationS:   r.Duration.Seconds(),
		Count:       r.Count,
	}
	r.reportFilter(&p.Report)
	return p, nil
}

// A listener is where to listen.
type listener struct {
	local  netip.AddrPort
	named  *host.Link // that was asked for; nil if none was
	holder *host.Link // that has the address; nil for any address and for a group
}

// listener reads the address and makes sure that it is this host's, or a group.
func (r *RecvRequest) listener(ctx context.Context) (*listener, error) {
	name, port, err := splitTarget(r.Addr)
	if err != nil {
		return nil, &UsageError{"", err.Error()}
	}
	if port == 0 {
		port = uint16(r.Port)
		if r.Filter.DstPorts.N > 0 {
			port = r.Filter.DstPorts.First
		}
	}
	only, err := onlyFamily(r.V4, r.V6)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{netip.IPv6Unspecified()} // IPv4 as well, unless -6 says otherwise
	switch {
	case name != "" && name != "*":
		if addrs, err = resolve(ctx, name, only); err != nil {
			return nil, err
		}
	case only == ipv4:
		addrs[0] = netip.IPv4Unspecified()
	}
	at := source{addr: addrs[0].WithZone("")}
	for _, link := range []string{r.Iface, addrs[0].Zone()} {
		if link == "" {
			continue
		}
		if err := at.on("iface", link); err != nil {
			return nil, err
		}
	}
	l := &listener{named: at.link}
	if !at.addr.IsUnspecified() && !at.addr.IsMulticast() {
		if l.holder, err = at.holder(""); err != nil {
			return nil, err
		}
	} else if scoped(at.addr) && at.link == nil {
		return nil, linkLocalError("", at.addr)
	}
	l.local = netip.AddrPortFrom(inZone(at.addr, at.link), port)
	return l, nil
}

// kernelPaths are the receive paths that take what comes by any interface.
var kernelPaths = []string{"udp", "gro"}

// choosePath finds the path; auto is udp, which needs nothing.
func (p *Receive) choosePath(name string, l *listener) error {
	if name == auto || name == "" {
		name = "udp"
	}
	var err error
	if p.Path, err = rx.Find(name); err != nil {
		return &UsageError{"rx", err.Error()}
	}
	if p.Path.InKernel {
		if p.Config.Verify {
			return &UsageError{"verify", fmt.Sprintf("rx %s looks at no payloads: use another --rx", name)}
		}
		if p.Track.Format != probe.Native {
			return &UsageError{"format", fmt.Sprintf("rx %s knows the format %v alone: use another --rx", name, probe.Native)}
		}
	}
	if slices.Contains(kernelPaths, name) {
		if p.Config.Filter.VLAN != nil {
			return &UsageError{"filter", fmt.Sprintf("vlan: a UDP socket sees no tags: use a raw path, as --rx packet, in place of %s", name)}
		}
		if l.holder != nil {
			p.Config.IfIndex = l.holder.Index
		}
		if l.named != nil {
			p.Config.Interface, p.Config.IfIndex = l.named.Name, l.named.Index
		}
	} else {
		link, err := l.rawLink(name)
		if err != nil {
			return err
		}
		p.Config.Interface, p.Config.IfIndex = link.Name, link.Index
	}
	if err := p.Path.Probe(&p.Config); err != nil {
		return &HostError{err}
	}
	return nil
}

// rawLink is the interface that a raw path counts on: the one that was asked
// for, else the one that has the address, else the only one that could be meant.
func (l *listener) rawLink(path string) (*host.Link, error) {
	link := l.named
	if link == nil {
		link = l.holder
	}
	if link == nil {
		candidates, err := ethernetLinks()
		if err != nil {
			return nil, &HostError{err}
		}
		switch len(candidates) {
		case 0:
			return nil, &HostError{fmt.Errorf("rx %s: no Ethernet interface is up here; use --rx udp", path)}
		case 1:
			link = candidates[0]
		default:
			return nil, &UsageError{"iface", fmt.Sprintf("rx %s counts on one interface: say which of %s", path, namesOf(candidates))}
		}
	}
	switch {
	case !link.Up:
		return nil, notRunning(link)
	case !link.Ethernet:
		return nil, &HostError{fmt.Errorf("rx %s: %s carries no Ethernet frames; use --rx udp", path, link.Name)}
	}
	return link, nil
}

// ethernetLinks are the interfaces of this host that are up and carry Ethernet frames.
func ethernetLinks() ([]*host.Link, error) {
	names, err := host.Names()
	if err != nil {
		return nil, err
	}
	var links []*host.Link
	for _, name := range names {
		link, err := host.LinkByName(name)
		if errors.Is(err, host.ErrNoInterface) {
			continue // it went away just now
		}
		if err != nil {
			return nil, err
		}
		if link.Ethernet && link.Up && !link.Loopback {
			links = append(links, link)
		}
	}
	return links, nil
}

func namesOf(links []*host.Link) string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.Name
	}
	return strings.Join(names, ", ")
}
