package probe

import "encoding/binary"

// iperf 2's UDP header, in network byte order:
//
//	 0  id, low half     4  signed, from 1 since 2.1; negative in a FIN
//	 4  seconds          4  wall clock
//	 8  microseconds     4
//	12  id, high half    4
//	16  flags            4  and the client header, up to offset 160
//
// A server believes whatever the flags say, so a pattern must not reach them.
// The only flag written here is 0x08000000, 64-bit ids; two bytes of flags are
// enough for it, hence the smallest payload of 18.
const (
	iperf2Time     = 4
	iperf2High     = 12
	iperf2Flags    = 16
	iperf2Size     = 18
	iperf2Reserved = 160

	iperf2Seq64 = 0x08 // in the first byte of the flags
)

func putIPerf2(b []byte, id, wall int64) {
	_ = b[iperf2Flags-1]
	binary.BigEndian.PutUint32(b, uint32(id))
	putTimeval(b[iperf2Time:], wall)
	binary.BigEndian.PutUint32(b[iperf2High:], uint32(id>>32))
}

// parseIPerf2 takes the id for 64 bits wide only if the flags say so: releases
// before 2.0.13 leave filler in the high half. It passes over id 0, which those
// releases open with and their servers don't count.
func parseIPerf2(b []byte) (Header, Kind) {
	if len(b) < iperf2Flags {
		return Header{}, Foreign
	}
	sent, ok := timeval(b[iperf2Time:])
	low := binary.BigEndian.Uint32(b)
	id := int64(int32(low))
	switch {
	case len(b) > iperf2Flags && b[iperf2Flags]&iperf2Seq64 != 0:
		id = int64(binary.BigEndian.Uint32(b[iperf2High:]))<<32 | int64(low)
	case low>>30 == 0b10: // a FIN of 2.0.10 to 2.0.12: sign bit and count
		id = -int64(low & 0x7fffffff)
	}
	switch {
	case !ok || id == 0:
		return Header{}, Foreign
	case id < 0:
		return Header{Seq: uint64(-(id + 1)), Sent: sent}, End
	default:
		return Header{Seq: uint64(id - 1), Sent: sent}, Data
	}
}

// AppendFIN appends the payload that ends a flow of iperf 2 after it sent so
// many packets, size bytes long like its data (at least Size). The server
// counts it as one more packet. Each try, from 0, has an id one lower, and all
// carry the time mono of the first; so of several FINs that arrive, the one
// with the smallest Seq has the true count.
func (s *Stamper) AppendFIN(b []byte, size int, sent uint64, try int, mono int64) []byte {
	start := len(b)
	b = append(b, make([]byte, size)...)
	s.Format.Init(b[start:])
	putIPerf2(b[start:], -int64(sent)-1-int64(try), mono+s.WallOffset)
	return b
}
