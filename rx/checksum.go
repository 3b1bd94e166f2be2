package rx

import (
	"encoding/binary"

	"linerate/internal/checksum"
)

// checksumRight says whether the UDP checksum of a datagram that was captured
// whole is right (RFC 768; RFC 8200, section 8.1, for IPv6, where it may not be
// absent).
func checksumRight(d *datagram) bool {
	if d.segment[6] == 0 && d.segment[7] == 0 {
		return len(d.ends) == 8
	}
	pseudo := uint64(protoUDP) + uint64(len(d.segment))
	return checksum.Fold(checksum.Add(checksum.Add(pseudo, d.ends), d.segment)) == 0xffff
}

// checksumUnmade says whether the UDP checksum was left to the device: the field
// has the sum of the pseudo-header then. A wrong checksum looks like that once in
// 65536 times.
func checksumUnmade(d *datagram) bool {
	pseudo := uint64(protoUDP) + uint64(len(d.segment))
	return checksum.Fold(checksum.Add(pseudo, d.ends)) == binary.BigEndian.Uint16(d.segment[6:])
}
