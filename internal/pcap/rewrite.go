package pcap

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"linerate/internal/checksum"
)

// A Swap puts one IP address in the place of another, or of any address of its
// IP version where Old is the zero Addr.
type Swap struct{ Old, New netip.Addr }

// A Rewrite says what to change of the frames of a capture. Its zero value mends
// checksums and changes nothing else. The addresses that ARP and ICMP carry
// inside stay as they were captured.
type Rewrite struct {
	SrcMAC, DstMAC net.HardwareAddr // nil leaves them
	// VLAN is the id of the outermost 802.1Q tag: a frame without one gets it,
	// one with it keeps its priority. nil leaves frames as they are.
	VLAN     *uint16
	Src, Dst []Swap // the first that fits counts
}

// Apply changes a frame of at least 14 bytes in place, or a copy where it grows,
// and returns it. wrong says whether a checksum was wrong before.
func (r *Rewrite) Apply(f []byte) (frame []byte, wrong bool) {
	l := parse(f)
	wrong = l.mend(f)
	if r.SrcMAC != nil {
		copy(f[6:12], r.SrcMAC)
	}
	if r.DstMAC != nil {
		copy(f[:6], r.DstMAC)
	}
	if l.ip > 0 && len(r.Src)+len(r.Dst) > 0 {
		source, destination, n := l.addresses()
		before := checksum.Add(checksum.Add(0, f[source:source+n]), f[destination:destination+n])
		swap(f[source:source+n], r.Src)
		swap(f[destination:destination+n], r.Dst)
		l.amend(f, before)
		l.mend(f)
	}
	if r.VLAN != nil {
		f = tag(f, *r.VLAN)
	}
	return f, wrong
}

// swap puts another address in the place of one.
func swap(address []byte, swaps []Swap) {
	old, _ := netip.AddrFromSlice(address)
	for _, s := range swaps {
		if s.Old == old || !s.Old.IsValid() && s.New.Is4() == old.Is4() {
			copy(address, s.New.AsSlice())
			return
		}
	}
}

// tag sets the VLAN id of a frame.
func tag(f []byte, id uint16) []byte {
	const priority = 0xf000 // and drop eligibility
	if Tagged(f) {
		tci := binary.BigEndian.Uint16(f[14:])
		binary.BigEndian.PutUint16(f[14:], tci&priority|id)
		return f
	}
	return slices.Insert(f, 12, etherVLAN>>8, etherVLAN&0xff, byte(id>>8), byte(id))
}
