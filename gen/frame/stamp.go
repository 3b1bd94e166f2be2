package frame

import "encoding/binary"

// Stamp makes the frame of a flow's packet seq, with a payload of size bytes,
// sent at mono ns of CLOCK_MONOTONIC, and returns its length. The buffer has
// been through Fill, and perhaps through Stamp for any other packet: every byte
// that varies is written anew. Flow and size are the template's. Stamp allocates
// nothing.
func (t *Template) Stamp(buf []byte, flow uint16, seq uint64, size int, mono int64) int {
	port := t.Headers.SrcPort + flow
	length := udpLen + size
	udp := buf[t.udp:]
	payload := udp[udpLen:]
	t.Stamper.Put(payload, flow, seq, mono)

	sum := t.udpSum + uint64(port) + 2*uint64(length) + uint64(t.tails[size]) // length: also in the pseudo-header
	sum = add(sum, payload[:t.Stamper.Format.Size()])
	binary.BigEndian.PutUint16(udp[udpSrcPort:], port)
	binary.BigEndian.PutUint16(udp[udpLength:], uint16(length))
	binary.BigEndian.PutUint16(udp[udpChecksumField:], udpChecksum(sum))

	ip := buf[t.ip:]
	if t.udp-t.ip == ipv4Len {
		total := ipv4Len + length
		binary.BigEndian.PutUint16(ip[ipv4TotalLength:], uint16(total))
		binary.BigEndian.PutUint16(ip[ipv4Checksum:], ^fold(t.ipSum+uint64(total)))
	} else {
		binary.BigEndian.PutUint16(ip[ipv6PayloadLength:], uint16(length))
	}
	if t.padded {
		t.pad(payload[:minFrame-t.HeaderLen()], size)
	}
	return t.FrameLen(size)
}

// pad zeros the bytes behind the payload in the shortest frame, and lays the
// pattern again where an earlier packet left such zeros.
func (t *Template) pad(payload []byte, size int) {
	header := t.Stamper.Format.Size()
	copy(payload[header:], t.payload[header:])
	if size < len(payload) {
		clear(payload[size:])
	}
}

// StampPayload is Stamp for a kernel path: it writes the header of a flow's
// packet into a buffer that has been through FillPayload, and nothing behind it.
func (t *Template) StampPayload(buf []byte, flow uint16, seq uint64, mono int64) {
	t.Stamper.Put(buf, flow, seq, mono)
}
