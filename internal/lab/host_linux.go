package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A namespace is an anonymous network namespace: it lives as long as its handle,
// a process or a socket in it.
type namespace struct {
	ns    netns.NsHandle
	nl    *netlink.Handle
	ports []port
}

// A port is an interface of a host with its addresses.
type port struct {
	name     string
	mac      net.HardwareAddr
	prefixes []netip.Prefix
	gateways []netip.Addr
}

// newHost makes a host with nothing but a loopback interface.
func newHost(name string, ports ...port) (*Host, error) {
	h := &Host{Name: name, Interface: ports[0].name, MAC: ports[0].mac}
	h.ports = ports
	for _, p := range ports[0].prefixes {
		switch addr := p.Addr(); {
		case addr.Is4():
			h.Addr4 = addr
		case addr.IsLinkLocalUnicast():
			h.LinkLocal = addr
		default:
			h.Addr6 = addr
		}
	}
	err := onThread(func() (err error) {
		if h.ns, err = netns.New(); err != nil {
			return fmt.Errorf("lab: make a network namespace: %w", needs(err, "CAP_SYS_ADMIN"))
		}
		if h.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			h.ns.Close()
			return fmt.Errorf("lab: open netlink: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := h.SetUp("lo", true); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *Host) close() error {
	h.nl.Close()
	return h.ns.Close()
}

// Do runs f on a thread inside the host. Sockets that f opens stay in the host
// and can be used anywhere; goroutines that it starts are outside.
// /proc/thread-self/net is the host's, /sys is still the machine's.
func (h *Host) Do(f func() error) error {
	return onThread(func() error {
		if err := netns.Set(h.ns); err != nil {
			return fmt.Errorf("lab: enter host %s: %w", h.Name, needs(err, "CAP_SYS_ADMIN"))
		}
		return f()
	})
}

// SetUp sets an interface up, with its addresses and routes, or down.
func (h *Host) SetUp(name string, up bool) error {
	return h.change(name, "set up or down", func(link netlink.Link) error {
		if !up {
			return h.nl.LinkSetDown(link)
		}
		if err := h.nl.LinkSetUp(link); err != nil {
			return err
		}
		for _, p := range h.ports {
			if p.name == name {
				return h.address(link, p)
			}
		}
		return nil
	})
}

// SetMTU sets an interface's MTU in bytes of an IP packet. Below 1280 it loses its
// IPv6 addresses, which SetUp brings back.
func (h *Host) SetMTU(name string, mtu int) error {
	return h.change(name, "set MTU", func(link netlink.Link) error {
		return h.nl.LinkSetMTU(link, mtu)
	})
}

// SetFeatures switches an interface's features by the names that ethtool -k shows
// them under in the kernel, such as "tx-checksum-ip-generic".
func (h *Host) SetFeatures(name string, features map[string]bool) error {
	return h.Do(func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("lab: open ethtool: %w", err)
		}
		defer e.Close()
		if err := e.Change(name, features); err != nil {
			return fmt.Errorf("lab: set features of %s in host %s: %w", name, h.Name, err)
		}
		return nil
	})
}

func (h *Host) change(name, what string, f func(netlink.Link) error) error {
	link, err := h.nl.LinkByName(name)
	if err == nil {
		err = f(link)
	}
	if err != nil {
		return fmt.Errorf("lab: %s %s in host %s: %w", what, name, h.Name, needs(err, "CAP_NET_ADMIN"))
	}
	return nil
}

// address gives an interface the addresses and routes of a port. Duplicate
// address detection is left out, for the addresses to be of use at once.
func (h *Host) address(link netlink.Link, p port) error {
	for _, prefix := range p.prefixes {
		addr := &netlink.Addr{IPNet: ipNet(prefix)}
		if prefix.Addr().Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := h.nl.AddrReplace(link, addr); err != nil {
			return fmt.Errorf("add address %s: %w", prefix, err)
		}
	}
	for _, gateway := range p.gateways {
		everywhere := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		if gateway.Is4() {
			everywhere = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		route := &netlink.Route{
			LinkIndex: link.Attrs().Index,
			Dst:       ipNet(everywhere),
			Gw:        gateway.AsSlice(),
		}
		if err := h.nl.RouteReplace(route); err != nil {
			return fmt.Errorf("add gateway %s: %w", gateway, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// index is the ifindex of an interface.
func (h *Host) index(name string) (index int, err error) {
	err = h.change(name, "look up", func(link netlink.Link) error {
		index = link.Attrs().Index
		return nil
	})
	return index, err
}

// carrier waits until an interface is operationally up: before that its queue
// swallows what is sent.
func (h *Host) carrier(name string) error {
	const patience = 5 * time.Second
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		var state netlink.LinkOperState
		err := h.change(name, "look up", func(link netlink.Link) error {
			state = link.Attrs().OperState
			return nil
		})
		if err != nil || state == netlink.OperUp {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("lab: %s in host %s is still %s after %s", name, h.Name, state, patience)
		}
	}
}

// sysctl sets a variable of the host below /proc/sys/net.
func (h *Host) sysctl(name, value string) error {
	return h.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
			return fmt.Errorf("lab: set sysctl in host %s: %w", h.Name, err)
		}
		return nil
	})
}

// needs adds the capability to a refusal for lack of it.
func needs(err error, capability string) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w (needs %s, or root)", err, capability)
	}
	return err
}

// quiet keeps the kernel from giving an interface an address of its own and so
// from sending what nobody asked for.
func (h *Host) quiet(name string) error {
	const none = 1 // IN6_ADDR_GEN_MODE_NONE of linux/if_link.h
	return h.change(name, "stop address generation of", func(link netlink.Link) error {
		return h.nl.LinkSetIP6AddrGenMode(link, none)
	})
}
