package lab

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/vishvananda/netlink"

	"linerate/bpf"
)

const defaultMTU = 1500

// middle is what a lab has between its hosts.
type middle struct {
	impairers []*bpf.Impairer // a to b, b to a; none where m routes
	closers   []io.Closer     // what New attached, in the order of attachment
	once      sync.Once
	closed    error
}

// New makes a lab; it is ready for packets when New returns. It needs root, or
// CAP_SYS_ADMIN and CAP_NET_ADMIN, and with a middle host CAP_BPF and Linux 6.6.
func New(c Config) (*Lab, error) {
	if c.MTU == 0 {
		c.MTU = defaultMTU
	}
	impaired := c.Impair != nil || c.Reverse != nil
	if c.Router && (impaired || c.Delay > 0) {
		return nil, errors.New("lab: a router can't impair: leave out Router, or Impair, Reverse and Delay")
	}
	l := &Lab{}
	build := l.direct
	switch {
	case c.Router:
		build = l.routed
	case impaired || c.Shape.Rate > 0 || c.Delay > 0:
		build = l.redirected
	}
	if err := build(c); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close takes the lab down and kills what still runs in it. A namespace lives on
// while a socket of this process in it does; close these first.
func (l *Lab) Close() error {
	l.once.Do(func() {
		// First, as the rest takes its time, which a program that is told to stop may lack.
		for _, h := range []*Host{l.a, l.b, l.m} {
			if h != nil {
				l.closed = errors.Join(l.closed, h.killResidents())
			}
		}
		for i := len(l.closers) - 1; i >= 0; i-- {
			l.closed = errors.Join(l.closed, l.closers[i].Close())
		}
	})
	return l.closed
}

// Impaired is what was done to datagrams so far, from a to b and from b to a.
func (l *Lab) Impaired() (forward, reverse ImpairCounts, err error) {
	if len(l.impairers) == 0 {
		return forward, reverse, errNoMiddle
	}
	if forward, err = l.impairers[0].Counts(); err != nil {
		return forward, reverse, err
	}
	reverse, err = l.impairers[1].Counts()
	return forward, reverse, err
}

// SetOutage starts or ends an outage: the middle host drops every frame of
// whatever kind, both ways, while the links of a and b stay up.
func (l *Lab) SetOutage(on bool) error {
	if len(l.impairers) == 0 {
		return errNoMiddle
	}
	for _, i := range l.impairers {
		if err := i.SetOutage(on); err != nil {
			return err
		}
	}
	return nil
}

var errNoMiddle = errors.New("lab: no impairer here: ask for Impair, Reverse or Shape")

// hosts makes a, b and, if it has ports, m.
func (l *Lab) hosts(a, b port, m ...port) (err error) {
	if l.a, err = l.host("a", a); err != nil {
		return err
	}
	if l.b, err = l.host("b", b); err != nil {
		return err
	}
	if len(m) > 0 {
		l.m, err = l.host("m", m...)
	}
	return err
}

func (l *Lab) host(name string, ports ...port) (*Host, error) {
	h, err := newHost(name, ports...)
	if err != nil {
		return nil, err
	}
	l.closers = append(l.closers, closer(h.close))
	// A new namespace takes over these from the machine's own.
	for _, conf := range []string{"all", "default"} {
		if err := h.sysctl("ipv4/conf/"+conf+"/rp_filter", "0"); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// attach attaches an eBPF program to a port of m until the lab is closed.
func (l *Lab) attach(port string, f func(index int) (io.Closer, error)) error {
	index, err := l.m.index(port)
	if err != nil {
		return err
	}
	return l.m.Do(func() error {
		c, err := f(index)
		if err != nil {
			return fmt.Errorf("lab: %s in host %s: %w", port, l.m.Name, err)
		}
		l.closers = append(l.closers, c)
		return nil
	})
}

// join makes a veth pair from an end's eth0 to a port of another host.
func (l *Lab) join(c Config, end, other *Host, name string) error {
	pair := netlink.NewVeth(netlink.LinkAttrs{
		Name:         "eth0",
		MTU:          c.MTU,
		HardwareAddr: end.MAC,
		TxQLen:       1000,
	})
	pair.PeerTxQLen = 1000
	pair.PeerName = name
	pair.PeerNamespace = netlink.NsFd(other.ns)
	for _, p := range other.ports {
		if p.name == name {
			pair.PeerHardwareAddr = p.mac
		}
	}
	if err := end.nl.LinkAdd(pair); err != nil {
		return fmt.Errorf("lab: join hosts %s and %s with MTU %d: %w", end.Name, other.Name, c.MTU, needs(err, "CAP_NET_ADMIN"))
	}
	return nil
}

// finish sets features, brings everything up and waits for it.
func (l *Lab) finish(c Config) error {
	hosts := []*Host{l.a, l.b}
	for i, sends := range []*Impairment{c.Impair, c.Reverse} {
		features := wire()
		if c.FinishedChecksums || sends != nil && sends.CorruptEvery > 0 && !sends.MendChecksum {
			features["tx-checksum-ip-generic"] = false
		}
		if err := hosts[i].SetFeatures("eth0", features); err != nil {
			return err
		}
	}
	if l.m != nil {
		hosts = append(hosts, l.m)
	}
	for _, h := range hosts {
		for _, p := range h.ports {
			if err := h.quiet(p.name); err != nil {
				return err
			}
			queue := func() error { return h.queue(p.name) }
			if h == l.m && c.Shape.Rate > 0 {
				queue = func() error { return h.shape(p.name, c.Shape, c.MTU) }
			}
			if err := queue(); err != nil {
				return err
			}
			if err := h.SetUp(p.name, true); err != nil {
				return err
			}
		}
	}
	for _, h := range hosts {
		for _, p := range h.ports {
			if err := h.carrier(p.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// wire is the features that make a veth carry frames as a wire does.
func wire() map[string]bool {
	return map[string]bool{
		// No super-frames, which an impairer could not judge either.
		"tx-udp-segmentation":          false,
		"tx-tcp-segmentation":          false,
		"tx-tcp-ecn-segmentation":      false,
		"tx-tcp-mangleid-segmentation": false,
		"tx-tcp6-segmentation":         false,
		// A tag is in the frame, where XDP can see it.
		"tx-vlan-hw-insert": false,
		// Frames stay in order, also where the sender moves to another CPU, and
		// those that XDP sends are taken. Both need the receiving veth to use
		// NAPI, which it does for GRO as long as the sending one leaves TCP
		// segmentation to others (veth_skb_is_eligible_for_gro).
		"rx-gro": true,
	}
}

// closer makes an io.Closer of a function.
type closer func() error

func (c closer) Close() error { return c() }
