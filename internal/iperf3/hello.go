package iperf3

import (
	"encoding/binary"
	"slices"
	"time"
)

// Before the data of a UDP stream the client sends a hello from the stream's
// address, and the server, which learns that address by it, a reply.
const (
	Hello = "9876" // since 3.12; a server takes any first datagram
	Reply = "6789" // since 3.12; what a client of 3.12 or later insists on
)

// The same values as integers, in both byte orders, of up to 3.11 (the first
// two) and of 3.12 to 3.16 on big-endian hosts.
var (
	otherHellos  = []string{"\x15\xcd\x5b\x07", "\x07\x5b\xcd\x15", Reply}
	otherReplies = []string{"\xb1\x68\xde\x3a", "\x3a\xde\x68\xb1", Hello}
)

// IsReply tells a reply of any release from data that overtook it.
func IsReply(datagram []byte) bool {
	return string(datagram) == Reply || slices.Contains(otherReplies, string(datagram))
}

// IsHello tells a hello of any release, or a padded one, from data. A server
// needs it for repeated hellos only: whatever comes first is a hello.
func IsHello(datagram []byte, counters64 bool) bool {
	if string(datagram) == Hello || slices.Contains(otherHellos, string(datagram)) {
		return true
	}
	if len(datagram) < MinBlockUDP {
		return false
	}
	if counters64 {
		return binary.BigEndian.Uint64(datagram[8:]) == 0
	}
	return binary.BigEndian.Uint32(datagram[8:]) == 0
}

// PaddedHello returns a hello that is safe to send again to a stock server: it
// has the size of the stream's datagrams, so that it isn't joined with the next
// one, and number 0, so that as data it costs an "out of order" and no loss.
// clock is the sender's, as in the headers of its data. size is at least
// MinBlockUDP. The bytes are the same with 32-bit and with 64-bit counters.
func PaddedHello(size int, clock time.Duration) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b, uint32(clock/time.Second))
	binary.BigEndian.PutUint32(b[4:], uint32(clock%time.Second/time.Microsecond))
	return b
}
