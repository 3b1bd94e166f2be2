package tcp

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// ReadInfo asks the kernel about a connection.
func ReadInfo(conn *net.TCPConn) (*Info, error) {
	b := make([]byte, unix.SizeofTCPInfo)
	n, err := option(conn, unix.IPPROTO_TCP, unix.TCP_INFO, "TCP_INFO", b)
	if err != nil {
		return nil, err
	}
	return parseInfo(b[:n])
}

// basicInfo is the length of the structure that every kernel fills.
const basicInfo = 104

// parseInfo reads as much of a struct tcp_info as the kernel filled. Its offsets
// are the same on every machine.
func parseInfo(b []byte) (*Info, error) {
	if len(b) < basicInfo {
		return nil, fmt.Errorf("TCP_INFO of %d bytes: a kernel fills at least %d", len(b), basicInfo)
	}
	f := fields(b)
	mss := f.at32(16)
	i := &Info{
		PMTU: f.at32(60), CongestionWindow: uint64(f.at32(80)) * uint64(mss), SendWindow: f.u32(228),
		Retransmits: f.at32(100), Reordering: f.at32(88),
		PacingRate: f.u64(104), BytesAcked: f.u64(120), DeliveryRate: f.u64(160),
		Busy: f.micros64(168), WindowLimited: f.micros64(176), SndbufLimited: f.micros64(184),
	}
	if rtt := f.at32(68); rtt != 0 { // 0 before the first sample
		i.RTT, i.RTTVar = micros(uint64(rtt)), micros(uint64(f.at32(72)))
	}
	if least := f.u32(148); least != nil && *least != math.MaxUint32 {
		i.MinRTT = micros(uint64(*least))
	}
	if i.PacingRate != nil && *i.PacingRate == math.MaxUint64 {
		i.PacingRate = nil
	}
	if i.DeliveryRate != nil && *i.DeliveryRate == 0 { // 0 before the first sample
		i.DeliveryRate = nil
	}
	return i, nil
}

// fields is a struct tcp_info, of which an old kernel fills less. Its methods
// take the offset of a field, and those with a pointer give nil beyond the end.
type fields []byte

func (f fields) at32(offset int) uint32 { return binary.NativeEndian.Uint32(f[offset:]) }

func (f fields) u32(offset int) *uint32 {
	if len(f) < offset+4 {
		return nil
	}
	return new(f.at32(offset))
}

func (f fields) u64(offset int) *uint64 {
	if len(f) < offset+8 {
		return nil
	}
	return new(binary.NativeEndian.Uint64(f[offset:]))
}

func (f fields) micros64(offset int) *time.Duration {
	us := f.u64(offset)
	if us == nil {
		return nil
	}
	return micros(*us)
}

func micros(n uint64) *time.Duration { return new(time.Duration(n) * time.Microsecond) }
