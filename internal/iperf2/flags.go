package iperf2

// flags are the first word of a client header.
const (
	flagBack       uint32 = 0x80000000 // VERSION1: test back to the client, at once or afterwards
	flagExtended   uint32 = 0x40000000 // the fields from upper flags to rate are there
	flagUDPTests   uint32 = 0x20000000 // upper flags hold for datagrams
	flagKey        uint32 = 0x10000000 // a permit key follows
	flagSeq64      uint32 = 0x08000000 // numbers have 64 bits
	flagTwoWay     uint32 = 0x04000000 // VERSION2: one of the modes of the upper flags
	flagPeerDetect uint32 = 0x02000000 // the client waits for an ack
	flagBounceBack uint32 = 0x00800000 // the stream is of requests to be answered
	flagLength     uint32 = 0x00010000 // the length below is valid
	flagNow        uint32 = 0x00000001 // test back at once
)

// The length of the header stands shifted by one within its flags.
const (
	lengthMask  = 0x01fe
	lengthShift = 1
)

// upper flags.
const (
	upperIsochronous uint16 = 0x0001
	upperNoFIN       uint16 = 0x0008
	upperTimes       uint16 = 0x0010
	upperReverse     uint16 = 0x0400
	upperFullDuplex  uint16 = 0x0800
)

// A Mode says which way data goes, and over which flow.
type Mode uint8

const (
	Forward    Mode = iota
	Reverse         // -R: the server sends on the client's flow
	FullDuplex      // --full-duplex: both send on the client's flow
	Dual            // -d: the server sends on a flow of its own at the same time
	Tradeoff        // -r: the same afterwards
)

// Back says that the server opens a flow of its own to the client's Port.
func (m Mode) Back() bool { return m == Dual || m == Tradeoff }

// mode reads the mode off both words of flags.
func mode(flags uint32, upper uint16) Mode {
	switch {
	case flags&flagBack != 0 && flags&flagNow != 0:
		return Dual
	case flags&flagBack != 0:
		return Tradeoff
	case upper&upperReverse != 0:
		return Reverse
	case upper&upperFullDuplex != 0:
		return FullDuplex
	}
	return Forward
}

// put adds the flags of a mode to both words.
func (m Mode) put(flags uint32, upper uint16) (uint32, uint16) {
	switch m {
	case Dual:
		flags |= flagBack | flagNow
	case Tradeoff:
		flags |= flagBack
	case Reverse:
		flags, upper = flags|flagTwoWay, upper|upperReverse
	case FullDuplex:
		flags, upper = flags|flagTwoWay, upper|upperFullDuplex
	}
	return flags, upper
}
