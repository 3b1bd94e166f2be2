package frame

import (
	"fmt"
	"slices"

	"linerate/internal/checksum"
	"linerate/internal/probe"
)

// A Template is the frame of a test, built once. It never changes after New, so
// any number of goroutines may use it; each stamps buffers of its own.
//
// Sizes of payloads are UDP payload bytes; lengths of frames are bytes handed to
// the kernel, without FCS.
//
// Of a kernel path's template (nil MAC addresses) only the payload may be filled
// and stamped.
type Template struct {
	Headers Headers
	Stamper probe.Stamper
	Sizes   []int // payload sizes
	Flows   int

	ip, udp int    // where these headers start
	padded  bool   // the shortest frame needs padding
	headers []byte // of flow 0, for the largest size; nil on kernel paths
	payload []byte // of the largest size, its probe header not yet stamped
	walk    walk   // addresses of each flow

	// Checksums come from the sums of what is constant, so that what a buffer
	// held before doesn't matter. What the walk writes is not in them.
	ipSum     uint64   // IPv4 header without total length and checksum
	pseudoSum uint64   // pseudo-header without length
	tails     []uint16 // by payload size: what stands behind the probe header
}

// New builds the template of a test that sends payloads of the given sizes on so
// many flows.
func New(h Headers, s probe.Stamper, sizes []int, flows int, pattern probe.Pattern) (*Template, error) {
	if err := h.check(flows); err != nil {
		return nil, err
	}
	if err := h.checkSizes(s.Format, sizes); err != nil {
		return nil, err
	}
	t := &Template{Headers: h, Stamper: s, Sizes: slices.Clone(sizes), Flows: flows, ip: h.ipOffset(), udp: h.udpOffset()}
	t.padded = t.HeaderLen()+slices.Min(sizes) < minFrame
	t.payload = make([]byte, slices.Max(sizes))
	pattern.Fill(t.payload, 0)
	s.Format.Init(t.payload)
	if h.kernel() {
		return t, nil
	}
	frame, err := h.serialize(0, t.payload)
	if err != nil {
		return nil, fmt.Errorf("building the frame: %w", err)
	}
	t.headers = frame[:t.HeaderLen()]
	t.walk = newWalk(&h, flows)
	t.sum()
	return t, nil
}

// sum works out the constant parts of the checksums.
func (t *Template) sum() {
	const protocol = 17 // UDP, in the pseudo-header
	ip := t.headers[t.ip:t.udp]
	addresses := ip[ipv6Addresses:]
	if t.Headers.isIPv4() {
		addresses = ip[ipv4Addresses:]
	}
	if t.walk.sums != nil {
		addresses = nil // they vary
	}
	if t.Headers.isIPv4() {
		t.ipSum = checksum.Add(0, ip[:ipv4TotalLength])
		t.ipSum = checksum.Add(t.ipSum, ip[ipv4TotalLength+2:ipv4Checksum])
		t.ipSum = checksum.Add(t.ipSum, addresses)
	}
	t.pseudoSum = checksum.Add(protocol, addresses)
	t.tails = make([]uint16, len(t.payload)+1)
	for i := t.Stamper.Format.Size(); i < len(t.payload); i++ {
		word := uint64(t.payload[i])
		if i%2 == 0 {
			word <<= 8
		}
		t.tails[i+1] = checksum.Fold(uint64(t.tails[i]) + word)
	}
}

// HeaderLen is the length of the headers before the payload, Ethernet's included.
func (t *Template) HeaderLen() int { return t.udp + udpLen }

// PacketLen is the length of the IP packet around a payload.
func (t *Template) PacketLen(payload int) int { return t.HeaderLen() - t.ip + payload }

// FrameLen is the length of the frame around a payload, padded to 60 bytes.
func (t *Template) FrameLen(payload int) int { return max(t.HeaderLen()+payload, minFrame) }

// MaxFrameLen is the length of the longest frame.
func (t *Template) MaxFrameLen() int { return t.FrameLen(len(t.payload)) }

// Fill lays out the longest frame in buf, which has at least MaxFrameLen bytes.
// Stamp makes any frame of the test of it.
func (t *Template) Fill(buf []byte) {
	n := copy(buf, t.headers)
	n += copy(buf[n:], t.payload)
	if n < minFrame {
		clear(buf[n:minFrame])
	}
}

// FillPayload lays out the largest payload in buf, or as much of it as buf is
// long. StampPayload makes any payload of the test of it.
func (t *Template) FillPayload(buf []byte) { copy(buf, t.payload) }

// Datagram is a whole frame of a flow around another payload of at most 65507
// bytes, such as an end marker. It allocates.
func (t *Template) Datagram(flow uint16, payload []byte) []byte {
	frame, err := t.Headers.serialize(flow, payload)
	if err != nil {
		panic(fmt.Sprintf("frame: headers that New took: %v", err))
	}
	return frame
}
