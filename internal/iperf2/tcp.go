package iperf2

import (
	"errors"
	"fmt"
)

// MaxHeader is the most bytes of a stream's header, a permit key left out.
const MaxHeader = 256

// errHeader is of a stream that begins as none of iperf 2 does.
var errHeader = errors.New("this is no header of iperf 2")

// AppendTCP appends the header that opens a stream. Its bytes count as payload.
func (s *Settings) AppendTCP(b []byte) []byte {
	start, length := len(b), plainSize
	if s.Start != 0 {
		length += startSize
	}
	b = append(b, make([]byte, length)...)
	s.putPlain(b[start:], uint32(length)<<lengthShift)
	if s.Start != 0 {
		s.putStart(b[start+plainSize:])
	}
	return b
}

// HeaderLength tells from the first four bytes of a stream how long its header
// is: 0 where it has none, as a stream of zeros or of a client's filler. Other
// bytes are an error: what else is spoken at the port must not be taken for a
// test.
func HeaderLength(b [4]byte) (int, error) {
	flags := be.Uint32(b[:])
	const may = flagBack | flagNow | flagExtended | flagTwoWay | flagPeerDetect | flagLength | lengthMask
	switch {
	case flags == 0 || flags == filler("0123"):
		return 0, nil
	case flags&^flagNow == flagBack:
		return baseSize, nil
	case flags&flagBounceBack != 0 && flags&^(may|flagBounceBack) == 0:
		return BounceBackSize, nil
	case flags&flagKey != 0:
		return 0, errors.New("the client sends a permit key, which this server does not check")
	case flags&^may != 0 || flags&(flagExtended|flagLength) != flagExtended|flagLength:
		return 0, fmt.Errorf("%w: its first bytes are %#08x", errHeader, flags)
	}
	length := int(flags & lengthMask >> lengthShift)
	if length < plainSize || length > MaxHeader {
		return 0, fmt.Errorf("%w: a header of %d bytes", errHeader, length)
	}
	return length, nil
}

// ParseTCP reads a header of as many bytes as HeaderLength said.
func ParseTCP(b []byte) Settings {
	var s Settings
	if len(b) < baseSize {
		return s
	}
	flags := be.Uint32(b)
	switch {
	case flags&flagBounceBack != 0:
		s.BounceBack = true
	case len(b) < plainSize:
		s.readBase(b)
	default:
		upper := s.readPlain(b)
		s.PeerDetect = flags&flagPeerDetect != 0
		start := plainSize
		if (len(b)-plainSize)%startSize == grown {
			start += grown
		}
		if upper&upperTimes != 0 && len(b) >= start+startSize {
			s.readStart(b[start:])
		}
	}
	return s
}

// The ack by which a server answers the header of a stream: type, length, flags
// and release, and two words of zero.
const (
	ackType = 2
	ackSize = 28
)

// AcksHeader says whether a server answers the header of such a stream.
func (s *Settings) AcksHeader() bool {
	return s.Release != "" && (s.PeerDetect || s.Mode != Reverse && s.Mode != FullDuplex)
}

// AppendAck appends the ack.
func AppendAck(b []byte) []byte {
	for _, w := range []uint32{ackType, ackSize, 0, versionUpper, versionLower, 0, 0} {
		b = be.AppendUint32(b, w)
	}
	return b
}

// AckLength tells from the first eight bytes of a server's answer how long it
// is in all.
func AckLength(b [8]byte) (int, error) {
	kind, length := be.Uint32(b[:]), be.Uint32(b[4:])
	if kind != ackType || length < ackSize || length > MaxHeader {
		return 0, fmt.Errorf("the server answered with a message of type %d and %d bytes, which is no ack", kind, length)
	}
	return int(length), nil
}

// ParseAck reads the server's release from an ack of the length that AckLength
// said.
func ParseAck(b []byte) string {
	if len(b) < ackSize {
		return ""
	}
	return release(b[12:])
}
