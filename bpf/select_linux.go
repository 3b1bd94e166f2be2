package bpf

import (
	"encoding/binary"
	"net/netip"
)

// A Selection says which datagrams count. Its zero value takes none, as it has no
// ports.
type Selection struct {
	From     netip.Prefix // source addresses, as IPv6 ones; invalid for any
	SrcPorts [2]uint16    // first and last
	DstPorts [2]uint16
	VLAN     *uint16 // id of the outer 802.1Q tag; nil for any and none
	DSCP     *uint8  // 0..63; nil for any
}

// tagged is TAGGED of select.h.
const tagged = 1 << 16

func (s *Selection) encode() xskSelection {
	out := xskSelection{Sports: s.SrcPorts, Dports: s.DstPorts}
	if s.From.IsValid() {
		from := s.From.Masked().Addr().As16()
		for i := range out.From {
			out.From[i] = binary.NativeEndian.Uint32(from[4*i:])
			mask := ^uint32(0) << (32 - min(max(s.From.Bits()-32*i, 0), 32))
			out.FromMask[i] = binary.NativeEndian.Uint32(binary.BigEndian.AppendUint32(nil, mask))
		}
	}
	if s.VLAN != nil {
		const id = 0xfff
		out.Tag, out.TagMask = tagged|uint32(*s.VLAN), tagged|id
	}
	if s.DSCP != nil {
		const ecn = 2 // bits below
		out.Tos, out.TosMask = uint32(*s.DSCP)<<ecn, 0xff&^(1<<ecn-1)
	}
	return out
}
