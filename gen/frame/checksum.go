package frame

import "encoding/binary"

// add adds the 16-bit words of b to a sum, an odd last byte padded with zero
// (RFC 1071). Sums stay unfolded: 64 bits have room for any datagram's words.
func add(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
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

// fold brings a sum down to 16 bits with end-around carries.
func fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum)
}

// udpChecksum is the checksum field for a sum. 0 on the wire would say that
// there is none (RFC 768), which IPv6 forbids (RFC 8200, section 8.1).
func udpChecksum(sum uint64) uint16 {
	if c := ^fold(sum); c != 0 {
		return c
	}
	return 0xffff
}
