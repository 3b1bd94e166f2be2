package pcap

import "encoding/binary"

// EtherTypes and IP protocol numbers (IANA).
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100 // IEEE 802.1Q
	etherQinQ = 0x88a8 // IEEE 802.1ad

	protoHopByHop    = 0
	protoICMP        = 1
	protoTCP         = 6
	protoUDP         = 17
	protoRouting     = 43
	protoFragment    = 44
	protoICMPv6      = 58
	protoDestination = 60
)

const (
	etherHeader = 14
	tagLen      = 4
	udpHeader   = 8
)

// A layout says where the parts of a frame stand, as offsets in bytes from its
// beginning. Where ip is 0 there is no whole IP packet, where l4 is 0 no header
// behind it that is known.
type layout struct {
	ip, l4, end int // end of the IP packet; an Ethernet trailer may follow
	v6          bool
	proto       uint8
	fragment    bool // of a larger packet; l4 is 0 unless it is the first
}

// isTag says whether an EtherType is that of a VLAN tag.
func isTag(etherType uint16) bool { return etherType == etherVLAN || etherType == etherQinQ }

// Tagged says whether a frame has a VLAN tag, which an interface takes beyond
// its MTU.
func Tagged(f []byte) bool {
	return len(f) >= etherHeader+tagLen && isTag(binary.BigEndian.Uint16(f[12:]))
}

// Sizes is how many bytes the IP packet of a frame has, and how many of them are
// payload of UDP or TCP; 0 where there is none.
func Sizes(f []byte) (packet, payload int) {
	l := parse(f)
	packet = l.end - l.ip
	if l.l4 == 0 || l.fragment {
		return packet, 0
	}
	switch l.proto {
	case protoUDP:
		payload = l.covered(f) - l.l4 - udpHeader
	case protoTCP:
		payload = l.end - l.l4 - int(f[l.l4+12]>>4)*4
	}
	return packet, max(payload, 0)
}

// parse finds the parts of a frame. It leaves out what contradicts itself.
func parse(f []byte) layout {
	at := 12
	for len(f) >= at+2+tagLen && isTag(binary.BigEndian.Uint16(f[at:])) {
		at += tagLen
	}
	if len(f) < at+2 {
		return layout{}
	}
	switch ip := at + 2; binary.BigEndian.Uint16(f[at:]) {
	case etherIPv4:
		return parse4(f, ip)
	case etherIPv6:
		return parse6(f, ip)
	}
	return layout{}
}

// parse4 reads an IPv4 header (RFC 791).
func parse4(f []byte, ip int) layout {
	if len(f) < ip+20 || f[ip]>>4 != 4 {
		return layout{}
	}
	header, total := int(f[ip]&15)*4, int(binary.BigEndian.Uint16(f[ip+2:]))
	if header < 20 || total < header || ip+total > len(f) {
		return layout{}
	}
	l := layout{ip: ip, end: ip + total, proto: f[ip+9]}
	const moreFragments, offsetMask = 0x2000, 0x1fff
	part := binary.BigEndian.Uint16(f[ip+6:])
	l.fragment = part&(moreFragments|offsetMask) != 0
	if part&offsetMask == 0 {
		l.upper(ip + header)
	}
	return l
}

// parse6 reads an IPv6 header and walks those behind it (RFC 8200, section 4).
func parse6(f []byte, ip int) layout {
	const header = 40
	if len(f) < ip+header || f[ip]>>4 != 6 {
		return layout{}
	}
	l := layout{ip: ip, v6: true, end: ip + header + int(binary.BigEndian.Uint16(f[ip+4:]))}
	if l.end > len(f) {
		return layout{}
	}
	next, at := f[ip+6], ip+header
	for isExtension(next) && at+8 <= l.end {
		length := (int(f[at+1]) + 1) * 8
		switch next {
		case protoRouting:
			if f[at+3] != 0 {
				return l // on its way: the checksum is for its last destination
			}
		case protoFragment:
			length = 8
			const offsetOrMore = 0xfff9
			part := binary.BigEndian.Uint16(f[at+2:])
			l.fragment = l.fragment || part&offsetOrMore != 0
			if part>>3 != 0 {
				return l
			}
		}
		next, at = f[at], at+length
	}
	l.proto = next
	l.upper(at)
	return l
}

// isExtension says whether a protocol is a header of IPv6 with another behind it.
func isExtension(proto uint8) bool {
	switch proto {
	case protoHopByHop, protoRouting, protoFragment, protoDestination:
		return true
	}
	return false
}

// upper notes where the header behind IP begins, if all of it is there.
func (l *layout) upper(at int) {
	least := map[uint8]int{protoICMP: 4, protoICMPv6: 4, protoUDP: udpHeader, protoTCP: 20}[l.proto]
	if least > 0 && at+least <= l.end {
		l.l4 = at
	}
}

// checksum is where the checksum behind IP stands; 0 where there is none.
func (l *layout) checksum() int {
	if l.l4 == 0 {
		return 0
	}
	switch l.proto {
	case protoICMP, protoICMPv6:
		return l.l4 + 2
	case protoUDP:
		return l.l4 + 6
	}
	return l.l4 + 16 // TCP
}

// addresses is where the source and the destination of the IP packet stand, and
// how long each is.
func (l *layout) addresses() (source, destination, length int) {
	if l.v6 {
		return l.ip + 8, l.ip + 24, 16
	}
	return l.ip + 12, l.ip + 16, 4
}
