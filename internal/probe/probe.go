// Package probe holds the headers that a test writes into its UDP payloads:
// linerate's own, iperf2's and iperf3's, its end markers, and the pattern that
// fills the rest. It opens no sockets and reads no clocks.
package probe

import "fmt"

// A Format is the layout of the payload header.
type Format uint8

const (
	Native     Format = iota // linerate's 18 bytes
	IPerf2                   // iperf 2's UDP header, 64-bit ids where the payload has room
	IPerf3                   // iperf3's UDP header with 32-bit counters
	IPerf3Wide               // the same with 64-bit counters
)

// A Kind is what a payload turned out to be.
type Kind uint8

const (
	Foreign Kind = iota // not a header of this format
	Data                // a probe
	End                 // an end marker
)

// A Header is what a probe carries, whatever its format. In an end marker Seq
// is the number of packets sent: over all flows for Native, on this one for
// IPerf2.
type Header struct {
	Run  uint16 // tells a restarted sender apart; 0 where the format has none
	Flow uint16 // 0 where the format has none
	Seq  uint64 // from 0, not unwrapped: 48 bits of it for Native, 32 or 64 for the others
	Sent int64  // ns of the sender's clock: CLOCK_MONOTONIC modulo 2^48 for Native, wall clock else
}

// A Source is where a datagram came from; it tells the flows of formats apart
// that have no flow number. IPv4 stands mapped.
type Source struct {
	Addr [16]byte
	Port uint16
}

// formats is indexed by Format. All sizes are even: checksums rely on it.
var formats = [...]struct {
	name           string
	size, reserved int
}{
	Native:     {"probe", NativeSize, NativeSize},
	IPerf2:     {"iperf2", iperf2Size, iperf2Reserved},
	IPerf3:     {"iperf3", iperf3Size, iperf3Size},
	IPerf3Wide: {"iperf3-64bit", iperf3WideSize, iperf3WideSize},
}

// ParseFormat reads the name of a format: probe, iperf2, iperf3 or iperf3-64bit.
func ParseFormat(s string) (Format, error) {
	for f := range formats {
		if formats[f].name == s {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("unknown payload format %q: want probe, iperf2, iperf3 or iperf3-64bit", s)
}

// String is the name that ParseFormat reads.
func (f Format) String() string { return formats[f].name }

// Size is the number of bytes of the smallest payload that carries the header,
// and always even. What Put writes lies within it.
func (f Format) Size() int { return formats[f].size }

// Reserved is the number of bytes at the front of a payload that belong to the
// format, as far as the payload reaches: no pattern may stand there.
func (f Format) Reserved() int { return formats[f].reserved }

// Init writes what stays the same in every header of a test into the reserved
// bytes of payload b, which has at least Size bytes. Put adds the rest.
func (f Format) Init(b []byte) {
	clear(b[:min(len(b), f.Reserved())])
	if f == IPerf2 {
		b[iperf2Flags] = iperf2Seq64
	}
}

// Parse reads the header at the front of a UDP payload. It takes any input,
// looks at no more than Size bytes and allocates nothing.
func (f Format) Parse(b []byte) (Header, Kind) {
	switch f {
	case IPerf2:
		return parseIPerf2(b)
	case IPerf3:
		return parseIPerf3(b)
	case IPerf3Wide:
		return parseIPerf3Wide(b)
	default:
		return parseNative(b)
	}
}

// A Stamper writes the headers of one format; it holds what stays the same in
// a test.
type Stamper struct {
	Format Format
	Run    uint16
	// WallOffset is CLOCK_REALTIME - CLOCK_MONOTONIC in ns, for the formats
	// that carry wall time.
	WallOffset int64
}

// Put writes the header of a flow's packet seq, counted from 0, sent at mono ns
// of CLOCK_MONOTONIC. Payload b has at least Size bytes and has been through
// Init. Put allocates nothing.
func (s *Stamper) Put(b []byte, flow uint16, seq uint64, mono int64) {
	switch s.Format {
	case IPerf2:
		putIPerf2(b, int64(seq)+1, mono+s.WallOffset)
	case IPerf3:
		putIPerf3(b, uint32(seq)+1, mono+s.WallOffset)
	case IPerf3Wide:
		putIPerf3Wide(b, seq+1, mono+s.WallOffset)
	default:
		putNative(b, MagicData, s.Run, flow, seq, mono)
	}
}
