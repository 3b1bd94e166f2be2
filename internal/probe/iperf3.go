package probe

import "encoding/binary"

// iperf3's UDP header, in network byte order: seconds 4, microseconds 4 and the
// packet's number, which starts at 1: 4 bytes, and it wraps, or 8 where the
// client asked for that (--udp-counters-64bit). There is no magic number and no
// end marker.
const (
	iperf3Number   = 8
	iperf3Size     = 12
	iperf3WideSize = 16
)

func putIPerf3(b []byte, number uint32, wall int64) {
	_ = b[iperf3Size-1]
	putTimeval(b, wall)
	binary.BigEndian.PutUint32(b[iperf3Number:], number)
}

func parseIPerf3(b []byte) (Header, Kind) {
	if len(b) < iperf3Size {
		return Header{}, Foreign
	}
	sent, ok := timeval(b)
	if !ok {
		return Header{}, Foreign
	}
	number := binary.BigEndian.Uint32(b[iperf3Number:])
	return Header{Seq: uint64(number - 1), Sent: sent}, Data
}

func putIPerf3Wide(b []byte, number uint64, wall int64) {
	_ = b[iperf3WideSize-1]
	putTimeval(b, wall)
	binary.BigEndian.PutUint64(b[iperf3Number:], number)
}

func parseIPerf3Wide(b []byte) (Header, Kind) {
	if len(b) < iperf3WideSize {
		return Header{}, Foreign
	}
	sent, ok := timeval(b)
	if !ok {
		return Header{}, Foreign
	}
	return Header{Seq: binary.BigEndian.Uint64(b[iperf3Number:]) - 1, Sent: sent}, Data
}
