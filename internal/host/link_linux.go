package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// iflaMaxMTU is IFLA_MAX_MTU of linux/if_link.h.
const iflaMaxMTU = 51

// LinkByName returns the link of that name. The error wraps ErrNoInterface if
// there is none.
func LinkByName(name string) (*Link, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return nil, linkError(name, err)
	}
	return describe(l)
}

// LinkByIndex returns the link of that index. The error wraps ErrNoInterface
// if there is none.
func LinkByIndex(index int) (*Link, error) {
	l, err := netlink.LinkByIndex(index)
	if err != nil {
		return nil, linkError(fmt.Sprintf("with index %d", index), err)
	}
	return describe(l)
}

func linkError(name string, err error) error {
	if errors.As(err, new(netlink.LinkNotFoundError)) || errors.Is(err, unix.ENODEV) {
		return noInterface(name)
	}
	return fmt.Errorf("interface %s: %w", name, err)
}

func describe(nlink netlink.Link) (*Link, error) {
	a := nlink.Attrs()
	l := &Link{
		Index:    a.Index,
		Name:     a.Name,
		MTU:      a.MTU,
		Ethernet: a.EncapType == "ether",
		Loopback: a.Flags&net.FlagLoopback != 0,
		Up:       a.RawFlags&unix.IFF_UP != 0,
		Carrier:  a.RawFlags&unix.IFF_LOWER_UP != 0,
	}
	if l.Ethernet {
		l.MAC = a.HardwareAddr
	}
	if err := l.addAttributes(); err != nil {
		return nil, err
	}
	l.addPeers(a)
	return l, l.addEthtool()
}

// addPeers finds the links that this one's frames go through, as far as they are
// in its namespace.
func (l *Link) addPeers(a *netlink.LinkAttrs) {
	indexes := []int{a.MasterIndex}
	if a.NetNsID < 0 { // else the parent is of another namespace
		indexes = append(indexes, a.ParentIndex)
	}
	for _, index := range indexes {
		if index == 0 || index == a.Index {
			continue
		}
		if peer, err := netlink.LinkByIndex(index); err == nil {
			l.Peers = append(l.Peers, Peer{Name: peer.Attrs().Name, MTU: peer.Attrs().MTU})
		}
	}
}

// addAttributes fills in the attributes of RTM_GETLINK that the netlink
// package leaves out.
func (l *Link) addAttributes() error {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(l.Index)
	req.AddData(msg)
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return linkError(l.Name, err)
	}
	for _, m := range msgs {
		attrs, err := nl.ParseRouteAttr(m[unix.SizeofIfInfomsg:])
		if err != nil {
			return fmt.Errorf("interface %s: %w", l.Name, err)
		}
		for _, a := range attrs {
			switch a.Attr.Type {
			case unix.IFLA_QDISC:
				l.Qdisc = nl.BytesToString(a.Value)
			case iflaMaxMTU:
				l.MaxMTU = int(binary.NativeEndian.Uint32(a.Value))
			}
		}
	}
	return nil
}

// addEthtool fills in what the driver says. What a driver does not implement
// stays unknown.
func (l *Link) addEthtool() error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("ethtool on %s: %w", l.Name, err)
	}
	defer e.Close()
	if driver, err := e.DriverName(l.Name); err == nil {
		l.Driver = driver
	}
	if r, err := e.GetRing(l.Name); err == nil && r.RxMaxPending != 0 {
		l.Rings = &Rings{
			RX: int(r.RxPending), RXMax: int(r.RxMaxPending),
			TX: int(r.TxPending), TXMax: int(r.TxMaxPending),
		}
	}
	if c, err := e.GetChannels(l.Name); err == nil {
		l.TXQueues = int(c.CombinedCount + c.TxCount)
	}
	if features, err := e.Features(l.Name); err == nil {
		l.Offloads = features
	}
	if l.Driver == "veth" || l.Driver == "tun" {
		return nil
	}
	l.SpeedBps, l.HalfDuplex = speed(e, l.Name)
	return nil
}

// speed is that of an interface in bit/s, 0 if it has none.
func speed(e *ethtool.Ethtool, name string) (bps uint64, halfDuplex bool) {
	// ETHTOOL_GSET and not GLINKSETTINGS: the package prints to standard output
	// when the kernel knows more link modes than it does.
	var cmd ethtool.EthtoolCmd
	mbit, err := e.CmdGet(&cmd, name)
	if err != nil || mbit == 0 || mbit == math.MaxUint32 {
		return 0, false
	}
	const half = 0 // DUPLEX_HALF of linux/ethtool.h
	return uint64(mbit) * 1_000_000, cmd.Duplex == half
}
