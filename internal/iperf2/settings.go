package iperf2

import (
	"math"
	"time"
)

// Settings are what a client asks for. What a release or a test does not say is
// zero.
type Settings struct {
	Mode     Mode
	Flows    int           // -P
	Port     int           // where the server sends to in a mode that is Back
	Size     int           // -l in bytes; 0 for the sender's default
	Duration time.Duration // -t, in steps of 10 ms up to MostDuration; 0 for none, or where Bytes is set
	Bytes    uint64        // -n, at most 2^31 - 1; 0 for none
	Rate     uint64        // -b in bit/s of payload, at most 2^56 - 1
	TOS      byte          // -S
	Start    time.Duration // --trip-times: wall time of the start, since 1970; 0 without
	NoFIN    bool          // --no-udp-fin: the client awaits no answer to its FIN
	// Isochronous says that the client sends frames of datagrams at a steady
	// rate of frames.
	Isochronous bool
	// PeerDetect says that a TCP client waits for an ack before it sends.
	PeerDetect bool
	// BounceBack says that a TCP client sends requests, of which the first is
	// the header itself, and wants each back.
	BounceBack bool
	// Release is the client's: "2.1.8". Empty before 2.1, on the way out always
	// this package's.
	Release string
}

// AcksFIN says whether the server answers the FIN of such a UDP flow with its
// report. It never does so to a group.
func (s *Settings) AcksFIN() bool {
	return !s.NoFIN && s.Mode != Reverse && s.Mode != FullDuplex
}

// The header's offsets from its flags:
//
//	 0  flags     4      32  upper flags  2
//	 4  flows     4      34  lower flags  2  0
//	 8  port      4      36  release      8
//	12  size      4      44  reserved     2
//	16  rate      4      46  TOS          2
//	20  amount    4      48  rate         8  low half, then the high one << 8
//	24  unused    8      56  unused       4
//
// The first 24 bytes are the whole header before 2.1, and only there the rate
// at 16 is used. An amount is -time in 10 ms, or bytes. In a datagram 32 bytes
// about frames come next, and for both what --trip-times adds:
//
//	0  reserved 4   4  start: seconds 4, microseconds 4   12  unused  8
//
// Releases since 2.2 have 4 bytes more ahead of these two.
const (
	atFlows    = 4
	atPort     = 8
	atSize     = 12
	atOldRate  = 16
	atAmount   = 20
	baseSize   = 24
	atUpper    = 32
	atRelease  = 36
	atTOS      = 46
	atRate     = 48
	atRateHigh = 52
	plainSize  = 60

	framesSize = 32
	startSize  = 20
	grown      = 4 // since 2.2
	stampAt    = 4 // of the start, within its block
)

// amountUnit is the step of a duration on the wire, where it has 31 bits.
const amountUnit = 10 * time.Millisecond

// MostDuration is the longest test that a header can ask for, 248 days.
const MostDuration = math.MaxInt32 * amountUnit

// putPlain writes the header up to its rate into b.
func (s *Settings) putPlain(b []byte, flags uint32) {
	var upper uint16
	flags, upper = s.Mode.put(flags|flagExtended|flagLength, upper)
	if s.Start != 0 {
		upper |= upperTimes
	}
	if s.NoFIN {
		upper |= upperNoFIN
	}
	if s.PeerDetect {
		flags |= flagTwoWay | flagPeerDetect
	}
	be.PutUint32(b, flags)
	be.PutUint32(b[atFlows:], uint32(s.Flows))
	be.PutUint32(b[atPort:], uint32(s.Port))
	be.PutUint32(b[atSize:], uint32(s.Size))
	amount := int32(min(s.Bytes, math.MaxInt32))
	if s.Bytes == 0 {
		amount = -int32(s.Duration / amountUnit)
	}
	be.PutUint32(b[atAmount:], uint32(amount))
	be.PutUint16(b[atUpper:], upper)
	be.PutUint32(b[atRelease:], versionUpper)
	be.PutUint32(b[atRelease+4:], versionLower)
	be.PutUint16(b[atTOS:], uint16(s.TOS))
	be.PutUint32(b[atRate:], uint32(s.Rate))
	be.PutUint32(b[atRateHigh:], uint32(s.Rate>>32)<<8)
}

// readBase reads the first 24 bytes of a header.
func (s *Settings) readBase(b []byte) {
	s.Mode = mode(be.Uint32(b), 0)
	s.Flows = int(be.Uint32(b[atFlows:]) & 0xffff) // 2.2 has an id in the upper half
	s.Port = int(be.Uint32(b[atPort:]) & 0xffff)
	s.Size = int(be.Uint32(b[atSize:]) & 0x7fffffff)
	s.Rate = uint64(be.Uint32(b[atOldRate:]))
	if amount := int64(int32(be.Uint32(b[atAmount:]))); amount < 0 {
		s.Duration = time.Duration(-amount) * amountUnit
	} else {
		s.Bytes = uint64(amount)
	}
}

// readPlain reads a header up to its rate, and returns what of the upper flags
// is not in the settings yet.
func (s *Settings) readPlain(b []byte) (upper uint16) {
	s.readBase(b)
	upper = be.Uint16(b[atUpper:])
	s.Mode = mode(be.Uint32(b), upper)
	s.TOS = byte(be.Uint16(b[atTOS:]))
	s.Rate = uint64(be.Uint32(b[atRateHigh:])>>8)<<32 | uint64(be.Uint32(b[atRate:]))
	s.Release = release(b[atRelease:])
	s.NoFIN = upper&upperNoFIN != 0
	s.Isochronous = upper&upperIsochronous != 0
	return upper
}

// putStart writes the block of --trip-times.
func (s *Settings) putStart(b []byte) {
	if s.Start != 0 {
		putTime(b[stampAt:], s.Start)
	}
}

// readStart reads it.
func (s *Settings) readStart(b []byte) {
	s.Start = readWall(b[stampAt:])
}
