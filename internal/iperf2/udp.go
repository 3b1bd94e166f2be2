package iperf2

import (
	"fmt"
	"time"

	"linerate/internal/probe"
)

// HeaderSize is the number of bytes of a datagram that belong to its number,
// time and header: as much as a client of release 2.1 clears.
const HeaderSize = 160

// SmallestHeader is the least size of a first datagram that carries Settings,
// and SmallestTimes of one with a Start.
const (
	SmallestHeader = PrefixSize + plainSize
	SmallestTimes  = SmallestHeader + framesSize + startSize
)

// The lengths that stand in the flags of a datagram: they count from its front,
// and leave out the block of the start.
const (
	udpPlain  = SmallestHeader
	udpFrames = SmallestHeader + framesSize
	udpMost   = HeaderSize
)

// PutUDP writes the client header into a datagram of at least SmallestHeader
// bytes, or SmallestTimes where there is a Start. Number and time at its
// front stay as they are.
func (s *Settings) PutUDP(b []byte) {
	flags, length := flagSeq64, uint32(udpPlain)
	if s.Start != 0 {
		flags, length = flags|flagUDPTests, udpFrames
	}
	if s.Mode == Reverse || s.Mode == FullDuplex || s.NoFIN {
		flags |= flagUDPTests
	}
	s.putPlain(b[PrefixSize:], flags|length<<lengthShift)
	if s.Start != 0 {
		s.putStart(b[SmallestTimes-startSize:])
	}
}

// ParseUDP reads what the first datagram of a flow asks for. A word of flags
// that no client writes is taken for payload: the settings are then of a plain
// test one way. It takes any input.
func ParseUDP(b []byte) Settings {
	var s Settings
	switch LayoutOf(b) {
	case Layout205:
		if len(b) >= oldPrefix+baseSize && oldFlags(be.Uint32(b[oldPrefix:])) {
			s.readBase(b[oldPrefix:])
		}
		return s
	case Layout2013:
		if len(b) >= PrefixSize+baseSize {
			s.readBase(b[PrefixSize:])
		}
		return s
	}
	length := headerLength(b)
	if length == 0 || len(b) < length {
		return s
	}
	upper := s.readPlain(b[PrefixSize:])
	start := SmallestHeader + framesSize
	if (length-udpPlain)%framesSize == grown {
		start += grown
	}
	if upper&upperTimes != 0 && len(b) >= start+startSize {
		s.readStart(b[start:])
	}
	return s
}

// Opens says whether a datagram from an unknown address begins a flow: it has a
// time, and a number that ends nothing. It takes any input.
func Opens(b []byte) bool {
	if len(b) < PrefixSize {
		return false
	}
	_, kind := probe.IPerf2.Parse(b)
	if kind == probe.Data {
		return true
	}
	// Releases before 2.1 begin with number 0, which counts for nothing.
	zero := be.Uint32(b) == 0 && be.Uint32(b[4:]) != 0 && be.Uint32(b[8:]) < uint32(time.Second/time.Microsecond)
	return kind == probe.Foreign && zero
}

// headerLength is the length that the flags of a datagram of release 2.1 or
// later claim; 0 where they are none.
func headerLength(b []byte) int {
	if len(b) < SmallestHeader {
		return 0
	}
	flags := be.Uint32(b[PrefixSize:])
	const must = flagExtended | flagSeq64 | flagLength
	const may = must | flagBack | flagNow | flagTwoWay | flagUDPTests | lengthMask
	if flags&must != must || flags&^may != 0 {
		return 0
	}
	length := int(flags & lengthMask >> lengthShift)
	if length < udpPlain || length > udpMost {
		return 0
	}
	return length
}

// release names the release of two words: major and minor, then patch and
// state of the build.
func release(b []byte) string {
	upper, lower := be.Uint32(b), be.Uint32(b[4:])
	if upper == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", upper>>16, upper&0xffff, lower>>16)
}
