package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// MaxQueues is how many receive queues of an interface a Redirect serves.
const MaxQueues = 64

// A Redirect hands a selection of the datagrams to an address, as they enter a host
// by one interface, to AF_XDP sockets: whole or the first fragment, behind at
// most one VLAN tag. The rest of the host does not see them.
type Redirect struct {
	objects xskObjects
	link    link.Link
	generic bool
}

// AttachRedirect starts that at an interface with the given MAC address, as an
// XDP program in driver mode, or in generic mode where the driver has none. It
// fails where the interface has an XDP program already. An unspecified address is
// for any. The sockets' descriptors
// are in the order of the receive queues that they are bound to.
func AttachRedirect(ifindex int, mac [6]byte, to netip.Addr, s Selection, sockets []int) (*Redirect, error) {
	spec, err := loadXsk()
	if err != nil {
		return nil, fmt.Errorf("bpf: read AF_XDP program: %w", err)
	}
	if err := spec.Variables[xskVarDestination].Set(encodeDestination(mac, to, s)); err != nil {
		return nil, fmt.Errorf("bpf: configure AF_XDP program: %w", err)
	}
	r := &Redirect{}
	if err := spec.LoadAndAssign(&r.objects, nil); err != nil {
		return nil, explain("load AF_XDP program", err)
	}
	if err := r.attach(ifindex, sockets); err != nil {
		return nil, errors.Join(err, r.objects.Close())
	}
	return r, nil
}

func (r *Redirect) attach(ifindex int, sockets []int) (err error) {
	for queue, fd := range sockets {
		if err := r.objects.Sockets.Put(uint32(queue), uint32(fd)); err != nil {
			return fmt.Errorf("bpf: enter AF_XDP socket of queue %d: %w", queue, err)
		}
	}
	r.link, err = attachXDP(ifindex, r.objects.Xsk, link.XDPDriverMode)
	if errors.Is(err, unix.EOPNOTSUPP) {
		r.generic = true
		r.link, err = attachXDP(ifindex, r.objects.Xsk, link.XDPGenericMode)
	}
	if err != nil {
		return explain("attach AF_XDP program (Linux 5.18 or later)", err)
	}
	return nil
}

// Generic reports whether the program runs in generic mode, after the kernel has
// wrapped each frame in a socket buffer.
func (r *Redirect) Generic() bool { return r.generic }

// Close detaches the program.
func (r *Redirect) Close() error {
	return errors.Join(r.link.Close(), r.objects.Close())
}

func encodeDestination(mac [6]byte, to netip.Addr, s Selection) xskDestination {
	addr := to.Unmap()
	d := xskDestination{Mac: mac, Selection: s.encode()}
	if !addr.IsValid() || addr.IsUnspecified() {
		d.Ipv4, d.Ipv6, d.Any = 1, 1, 1
		return d
	}
	if addr.Is4() {
		d.Ipv4 = 1
	} else {
		d.Ipv6 = 1
	}
	b := addr.As16()
	for i := range d.Addr {
		d.Addr[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return d
}
