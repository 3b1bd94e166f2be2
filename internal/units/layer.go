package units

import "fmt"

// A Layer says which bytes of a packet a rate counts.
type Layer uint8

const (
	L1 Layer = iota + 1 // the wire: the frame with preamble, start delimiter and inter-frame gap
	L2                  // the Ethernet frame with its FCS
	L3                  // the IP packet
	L4                  // the UDP or TCP payload, which is what iperf counts
)

// String returns "l1" to "l4", and "" for the zero Layer.
func (l Layer) String() string {
	if l == 0 {
		return ""
	}
	return fmt.Sprintf("l%d", uint8(l))
}

// ParseLayer parses l1 to l4, in either case.
func ParseLayer(s string) (Layer, error) {
	if len(s) == 2 && s[0]|0x20 == 'l' && s[1] >= '1' && s[1] <= '4' {
		return Layer(s[1] - '0'), nil
	}
	return 0, fmt.Errorf("%q is not a layer; write l1 (wire), l2 (frame with FCS), l3 (IP packet) or l4 (payload)", s)
}

// Of returns the layer's own of four figures, one for each; the zero Layer is L4.
func (l Layer) Of(l1, l2, l3, l4 float64) float64 {
	return [...]float64{l4, l1, l2, l3, l4}[l]
}

// Bytes of the wire and of headers, IEEE 802.3 and the RFC of each header.
const (
	WireBytes         = 7 + 1 + 12 // preamble, start delimiter, inter-frame gap
	ethernetBytes     = 14
	FCSBytes          = 4
	tagBytes          = 4 // 802.1Q
	MinFrameBytes     = 64
	ipv4Bytes         = 20 // RFC 791 without options
	ipv6Bytes         = 40 // RFC 8200 without extension headers
	udpBytes          = 8
	tcpBytes          = 20 // RFC 9293 without options
	tcpTimestampBytes = 12 // RFC 7323 with its two bytes of padding
)

// A Stack says which headers stand around a payload. The zero Stack is UDP over
// IPv4 in an untagged frame.
type Stack struct {
	VLANTags      int
	IPv6          bool
	TCP           bool
	TCPTimestamps bool // with TCP only
}

// FrameBytes returns the length of the Ethernet frame around a payload, FCS
// included and padded to 64 bytes.
func (s Stack) FrameBytes(payload int) int {
	return max(s.BytesAt(L3, payload)+s.frameHeaders(), MinFrameBytes)
}

// PayloadBytes returns the payload of a frame that is not padded, FCS counted in
// frame. It is negative if the headers alone are longer than the frame.
func (s Stack) PayloadBytes(frame int) int {
	return frame - s.frameHeaders() - s.packetHeaders()
}

// BytesAt returns what one packet takes at a layer.
func (s Stack) BytesAt(l Layer, payload int) int {
	switch l {
	case L1:
		return s.FrameBytes(payload) + WireBytes
	case L2:
		return s.FrameBytes(payload)
	case L3:
		return s.packetHeaders() + payload
	case L4:
		return payload
	}
	panic(fmt.Sprintf("units: no such layer: %d", uint8(l)))
}

// frameHeaders is what stands around the IP packet.
func (s Stack) frameHeaders() int {
	return ethernetBytes + s.VLANTags*tagBytes + FCSBytes
}

// packetHeaders is what stands before the payload in the IP packet.
func (s Stack) packetHeaders() int {
	n := ipv4Bytes
	if s.IPv6 {
		n = ipv6Bytes
	}
	switch {
	case !s.TCP:
		return n + udpBytes
	case s.TCPTimestamps:
		return n + tcpBytes + tcpTimestampBytes
	}
	return n + tcpBytes
}
