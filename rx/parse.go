package rx

import (
	"encoding/binary"

	"linerate/internal/probe"
)

// Header lengths in bytes, and the values that lead from one header to the next.
const (
	ethernetLen = 14
	tagLen      = 4 // IEEE 802.1Q
	ipv4Len     = 20
	ipv4MaxLen  = 60 // with options
	ipv6Len     = 40
	fragmentLen = 8 // IPv6 fragment header, RFC 8200, section 4.5
	udpLen      = 8

	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherTag  = 0x8100 // customer tag
	etherSTag = 0x88a8 // service tag

	protoUDP      = 17
	protoFragment = 44
)

// A datagram is what parse finds in a frame. It points into the frame.
type datagram struct {
	segment  []byte // UDP header and as much of the payload as was captured
	size     int    // UDP payload bytes, from the UDP header
	from     probe.Source
	ends     []byte // source and destination address, as the pseudo-header has them
	fragment bool   // the first of several: the rest of the payload is not in this frame
	tagged   bool   // an 802.1Q tag stands in the frame
	tci      uint16
}

// payload is what was captured of the UDP payload.
func (d *datagram) payload() []byte { return d.segment[udpLen:] }

// parse reads an Ethernet frame that holds a UDP datagram over IPv4 or IPv6, or
// the first fragment of one, behind at most one 802.1Q tag. Of length bytes that
// arrived, without FCS, b has the first. It is false for any other frame and for
// one whose lengths contradict each other, as the kernel would not accept it
// either.
func parse(b []byte, length int) (d datagram, ok bool) {
	if len(b) < ethernetLen+tagLen {
		return d, false
	}
	ether, at := binary.BigEndian.Uint16(b[12:]), ethernetLen
	if ether == etherTag || ether == etherSTag {
		d.tagged, d.tci = true, binary.BigEndian.Uint16(b[14:])
		ether, at = binary.BigEndian.Uint16(b[16:]), ethernetLen+tagLen
	}
	b, length = b[at:], length-at // the IP packet and perhaps padding
	switch ether {
	case etherIPv4:
		return d, d.parseIPv4(b, length)
	case etherIPv6:
		return d, d.parseIPv6(b, length)
	}
	return d, false
}

// parseIPv4 reads RFC 791, section 3.1.
func (d *datagram) parseIPv4(b []byte, length int) bool {
	if len(b) < ipv4Len {
		return false
	}
	header := int(b[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:])
	const more, offset = 0x2000, 0x1fff
	if b[0]>>4 != 4 || header < ipv4Len || total > length || b[9] != protoUDP || fragment&offset != 0 {
		return false
	}
	d.fragment = fragment&more != 0
	d.ends = b[12:20]
	d.from.Addr[10], d.from.Addr[11] = 0xff, 0xff
	copy(d.from.Addr[12:], b[12:16])
	return d.parseUDP(b, header, total)
}

// parseIPv6 reads RFC 8200, section 3. Of extension headers it knows the
// fragment header alone.
func (d *datagram) parseIPv6(b []byte, length int) bool {
	if len(b) < ipv6Len {
		return false
	}
	next, header := b[6], ipv6Len
	total := ipv6Len + int(binary.BigEndian.Uint16(b[4:]))
	if b[0]>>4 != 6 || total > length {
		return false
	}
	if next == protoFragment {
		if len(b) < ipv6Len+fragmentLen {
			return false
		}
		const more, offset = 0x0001, 0xfff8
		fragment := binary.BigEndian.Uint16(b[ipv6Len+2:])
		if fragment&offset != 0 {
			return false
		}
		d.fragment = fragment&more != 0
		next, header = b[ipv6Len], ipv6Len+fragmentLen
	}
	if next != protoUDP {
		return false
	}
	d.ends = b[8:40]
	copy(d.from.Addr[:], b[8:24])
	return d.parseUDP(b, header, total)
}

// parseUDP reads RFC 768 behind an IP header; total is the length of the IP
// packet.
func (d *datagram) parseUDP(b []byte, header, total int) bool {
	if len(b) < header+udpLen {
		return false
	}
	udp := b[header:]
	n := int(binary.BigEndian.Uint16(udp[4:]))
	if n < udpLen || total < header+udpLen || !d.fragment && total < header+n {
		return false
	}
	d.from.Port = binary.BigEndian.Uint16(udp)
	d.size = n - udpLen
	// What follows the IP packet is padding; what follows the UDP length is not
	// the datagram's.
	d.segment = udp[:min(len(udp), n, total-header)]
	return true
}
