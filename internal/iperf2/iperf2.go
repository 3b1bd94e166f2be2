// Package iperf2 has the messages of iperf 2: what its client asks for in the
// first bytes of a test, what its server answers, and the layouts of the
// releases since 2.0.5. It opens no sockets and reads no clocks.
//
// There is no control connection: a client announces its test in the header of
// its first datagram, or at the start of its byte stream, and a server says
// what it received in an answer to the datagram that ends a flow. The number
// and time at the front of each datagram are probe's.
//
// All integers on the wire are in network byte order. The layouts were found by
// capturing what releases 2.0.5, 2.0.10, 2.0.13, 2.1.8 and 2.2.1 send.
package iperf2

import (
	"encoding/binary"
	"time"
)

// Port is where a server waits, over UDP and TCP.
const Port = 5001

// PrefixSize is the number of bytes of the number and time at the front of each
// datagram since release 2.0.10; the client header follows.
const PrefixSize = 16

// The release that our headers name: 2.1.8, a release build.
const (
	versionUpper = 2<<16 | 1
	versionLower = 8<<16 | 3
)

var be = binary.BigEndian

// putTime writes a time as a timeval: whole seconds and microseconds.
func putTime(b []byte, d time.Duration) {
	be.PutUint32(b, uint32(d/time.Second))
	be.PutUint32(b[4:], uint32(d%time.Second/time.Microsecond))
}

// readSpan reads such a time of which both halves may be negative.
func readSpan(b []byte) time.Duration {
	return time.Duration(int32(be.Uint32(b)))*time.Second + time.Duration(int32(be.Uint32(b[4:])))*time.Microsecond
}

// readWall reads such a time since 1970, good until 2106; 0 where it is none.
func readWall(b []byte) time.Duration {
	us := time.Duration(be.Uint32(b[4:])) * time.Microsecond
	if us >= time.Second {
		return 0
	}
	return time.Duration(be.Uint32(b))*time.Second + us
}
