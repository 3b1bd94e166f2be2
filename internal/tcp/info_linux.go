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
		State:   stateName(b[0]),
		SendMSS: mss, RecvMSS: f.at32(20), PMTU: f.at32(60),
		CongestionWindow: uint64(f.at32(80)) * uint64(mss),
		Retransmits:      f.at32(100), Lost: f.at32(32), Reordering: f.at32(88),

		PacingRate: f.u64(104), BytesAcked: f.u64(120), BytesReceived: f.u64(128),
		NotSent: f.u32(144), DeliveryRate: f.u64(160),
		Busy: f.micros64(168), WindowLimited: f.micros64(176), SndbufLimited: f.micros64(184),
		DeliveredCE: f.u32(196), BytesSent: f.u64(200), BytesRetrans: f.u64(208),
		ReorderingSeen: f.u32(220), SendWindow: f.u32(228), Timeouts: f.u16(240),
	}
	if rtt := f.at32(68); rtt != 0 { // 0 before the first sample
		i.RTT, i.RTTVar = micros(uint64(rtt)), micros(uint64(f.at32(72)))
	}
	if least := f.u32(148); least != nil && *least != math.MaxUint32 {
		i.MinRTT = micros(uint64(*least))
	}
	if threshold := f.at32(76); threshold < noThreshold {
		i.SlowStartThreshold = new(uint64(threshold) * uint64(mss))
	}
	if i.PacingRate != nil && *i.PacingRate == math.MaxUint64 {
		i.PacingRate = nil
	}
	if i.DeliveryRate != nil && *i.DeliveryRate == 0 { // 0 before the first sample
		i.DeliveryRate = nil
	}
	return i, nil
}

// noThreshold is TCP_INFINITE_SSTHRESH of the kernel's net/tcp.h.
const noThreshold = 0x7fffffff

// stateName is one of enum of the kernel's net/tcp_states.h.
func stateName(state byte) string {
	names := [...]string{1: "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2",
		"time-wait", "closed", "close-wait", "last-ack", "listen", "closing"}
	if int(state) < len(names) && names[state] != "" {
		return names[state]
	}
	return fmt.Sprintf("state %d", state)
}

// fields is a struct tcp_info, of which an old kernel fills less. Its methods
// take the offset of a field, and those with a pointer give nil beyond the end.
type fields []byte

func (f fields) at32(offset int) uint32 { return binary.NativeEndian.Uint32(f[offset:]) }

func (f fields) u16(offset int) *uint32 {
	if len(f) < offset+2 {
		return nil
	}
	return new(uint32(binary.NativeEndian.Uint16(f[offset:])))
}

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
