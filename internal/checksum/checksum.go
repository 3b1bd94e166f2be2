// Package checksum is the Internet checksum (RFC 1071): a sum in ones' complement of
// big-endian 16-bit words, of which the field in a header is the complement.
package checksum

import "encoding/binary"

// Add adds the words of b to a sum, an odd last byte padded with zero. A sum stays
// unfolded, so that a caller may add words of its own: 64 bits have room for those of
// any packet. It adds wider words at once, as 2^16 is 1 modulo 2^16-1.
func Add(sum uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		word := binary.BigEndian.Uint64(b)
		sum += word>>32 + word&0xffffffff
	}
	if len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// Fold brings a sum down to 16 bits with end-around carries.
func Fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum)
}

// OfUDP is the field of a UDP header for the sum of a datagram and its pseudo-header. 0
// on the wire would say that there is none (RFC 768), which IPv6 forbids (RFC 8200,
// section 8.1).
func OfUDP(sum uint64) uint16 {
	if c := ^Fold(sum); c != 0 {
		return c
	}
	return 0xffff
}
