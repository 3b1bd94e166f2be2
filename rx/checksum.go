package rx

import (
	"encoding/binary"
	"math/bits"
)

// checksumRight says whether the UDP checksum of a datagram that was captured
// whole is right (RFC 768; RFC 8200, section 8.1, for IPv6, where it may not be
// absent).
func checksumRight(d *datagram) bool {
	if d.segment[6] == 0 && d.segment[7] == 0 {
		return len(d.ends) == 8
	}
	pseudo := uint64(protoUDP) + uint64(len(d.segment))
	return fold(sum(sum(pseudo, d.ends), d.segment)) == 0xffff
}

// checksumUnmade says whether the UDP checksum was left to the device: the field
// has the sum of the pseudo-header then. A wrong checksum looks like that once in
// 65536 times.
func checksumUnmade(d *datagram) bool {
	pseudo := uint64(protoUDP) + uint64(len(d.segment))
	return fold(sum(pseudo, d.ends)) == binary.BigEndian.Uint16(d.segment[6:])
}

// sum adds b, as big-endian 16-bit words, to a ones' complement sum in 64 bits
// (RFC 1071): any number of words may be added at once, as 2^16 = 1 modulo
// 2^16-1.
func sum(s uint64, b []byte) uint64 {
	var carry uint64
	for len(b) >= 8 {
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b), carry)
		b = b[8:]
	}
	var rest [8]byte
	copy(rest[:], b)
	s, carry = bits.Add64(s, binary.BigEndian.Uint64(rest[:]), carry)
	s, carry = bits.Add64(s, 0, carry)
	return s + carry
}

// fold reduces a ones' complement sum to 16 bits.
func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
