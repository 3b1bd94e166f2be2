package pcap

import (
	"encoding/binary"

	"linerate/internal/checksum"
)

// mend sets the checksums of a frame right: that of IPv4, and that of TCP, UDP,
// ICMP or ICMPv6 behind IP. A fragment holds too little for the latter, and UDP
// over IPv4 may go without. It reports whether one was wrong.
func (l *layout) mend(f []byte) bool {
	if l.ip == 0 {
		return false
	}
	wrong := false
	set := func(at int, value uint16) {
		wrong = wrong || binary.BigEndian.Uint16(f[at:]) != value
		binary.BigEndian.PutUint16(f[at:], value)
	}
	if !l.v6 {
		header := f[l.ip : l.ip+int(f[l.ip]&15)*4]
		set(l.ip+10, ^checksum.Fold(checksum.Add(0, header)-uint64(binary.BigEndian.Uint16(header[10:]))))
	}
	at := l.checksum()
	if at == 0 || l.fragment || l.without(f) {
		return wrong
	}
	var s uint64
	if l.proto != protoICMP {
		s = l.pseudo(f)
	}
	s = checksum.Add(s, f[l.l4:l.covered(f)]) - uint64(binary.BigEndian.Uint16(f[at:]))
	set(at, l.field(s))
	return wrong
}

// field is the checksum for a sum.
func (l *layout) field(sum uint64) uint16 {
	if l.proto == protoUDP {
		return checksum.OfUDP(sum)
	}
	return ^checksum.Fold(sum)
}

// without says whether a datagram does without a checksum.
func (l *layout) without(f []byte) bool {
	return l.proto == protoUDP && !l.v6 && binary.BigEndian.Uint16(f[l.checksum():]) == 0
}

// covered is where the bytes end that the checksum covers: UDP has a length of its own,
// and options or more may follow in the IP packet (RFC 768, RFC 9868).
func (l *layout) covered(f []byte) int {
	if l.proto == protoUDP {
		if n := int(binary.BigEndian.Uint16(f[l.l4+4:])); n >= udpHeader && l.l4+n <= l.end {
			return l.l4 + n
		}
	}
	return l.end
}

// pseudo is the sum of the pseudo-header (RFC 9293, section 3.1; RFC 8200,
// section 8.1).
func (l *layout) pseudo(f []byte) uint64 {
	source, destination, n := l.addresses()
	length := uint64(l.covered(f) - l.l4)
	s := checksum.Add(0, f[source:source+n])
	s = checksum.Add(s, f[destination:destination+n])
	return s + length>>16 + length&0xffff + uint64(l.proto)
}

// amend changes the checksum of the first fragment of a packet, whose rest is
// elsewhere, as much as its addresses changed (RFC 1624).
func (l *layout) amend(f []byte, before uint64) {
	at := l.checksum()
	if at == 0 || !l.fragment || l.proto == protoICMP || l.without(f) {
		return
	}
	source, destination, n := l.addresses()
	after := checksum.Add(checksum.Add(0, f[source:source+n]), f[destination:destination+n])
	s := uint64(^binary.BigEndian.Uint16(f[at:])) + uint64(^checksum.Fold(before)) + after
	binary.BigEndian.PutUint16(f[at:], l.field(s))
}
