package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// neighbourPoll is how often the neighbour table is read while the kernel asks.
const neighbourPoll = 10 * time.Millisecond

// NeighbourMAC is the MAC address of a host on the link, from the kernel's
// neighbour table. If the table lacks it the kernel is made to ask, by ARP or
// neighbour discovery, and the answer is waited for: the kernel gives up after
// three requests a second apart. The error wraps ErrNoNeighbour if no answer came.
func NeighbourMAC(ctx context.Context, link *Link, addr netip.Addr) (net.HardwareAddr, error) {
	addr = addr.WithZone("")
	mac, _, err := neighbour(link, addr)
	if err != nil || mac != nil {
		return mac, err
	}
	// A known neighbour must not be asked for again: NTF_USE would turn an
	// entry that an administrator set into an ordinary one.
	if err := solicit(ctx, link, addr); err != nil {
		return nil, fmt.Errorf("neighbour %s on %s: %w", addr, link.Name, err)
	}
	tick := time.NewTicker(neighbourPoll)
	defer tick.Stop()
	for {
		mac, failed, err := neighbour(link, addr)
		if err != nil || mac != nil {
			return mac, err
		}
		if failed {
			return nil, noNeighbour(link, addr)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, noNeighbour(link, addr)
			}
			return nil, ctx.Err()
		}
	}
}

func noNeighbour(link *Link, addr netip.Addr) error {
	protocol := "ARP"
	if addr.Is6() {
		protocol = "neighbour discovery"
	}
	return fmt.Errorf("%w to %s for %s on %s", ErrNoNeighbour, protocol, addr, link.Name)
}

// neighbour reads one entry of the table: its MAC if that is valid, and whether
// the kernel has given up asking.
func neighbour(link *Link, addr netip.Addr) (mac net.HardwareAddr, failed bool, err error) {
	family := unix.AF_INET
	if addr.Is6() {
		family = unix.AF_INET6
	}
	const valid = unix.NUD_PERMANENT | unix.NUD_NOARP | unix.NUD_REACHABLE |
		unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE
	entries, err := netlink.NeighList(link.Index, family)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, false, fmt.Errorf("neighbours of %s: %w", link.Name, err)
	}
	for _, e := range entries {
		if ip, ok := netip.AddrFromSlice(e.IP); !ok || ip != addr {
			continue
		}
		if e.State&valid != 0 && len(e.HardwareAddr) == 6 {
			return e.HardwareAddr, false, nil
		}
		return nil, e.State&unix.NUD_FAILED != 0, nil
	}
	return nil, false, nil
}

// solicit makes the kernel ask for a neighbour. That needs CAP_NET_ADMIN; a
// process with CAP_NET_RAW alone makes it ask with an empty datagram to the
// neighbour's discard port (RFC 863).
func solicit(ctx context.Context, link *Link, addr netip.Addr) error {
	err := netlink.NeighSet(&netlink.Neigh{
		LinkIndex: link.Index,
		IP:        addr.AsSlice(),
		Flags:     netlink.NTF_USE,
	})
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	if addr.IsLinkLocalUnicast() {
		addr = addr.WithZone(link.Name)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", netip.AddrPortFrom(addr, 9).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(nil)
	return err
}
