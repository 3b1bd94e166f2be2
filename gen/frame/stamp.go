package frame

import (
	"encoding/binary"

	"linerate/internal/checksum"
)

// Stamp makes the frame of a flow's packet seq, with a payload of size bytes,
// sent at mono ns of CLOCK_MONOTONIC, and returns its length. The buffer has
// been through Fill, and perhaps through Stamp for any other packet: every byte
// that varies is written anew. Flow and size are the template's. Stamp allocates
// nothing.
func (t *Template) Stamp(buf []byte, flow uint16, seq uint64, size int, mono int64) int {
	src, dst := t.Headers.Ports(flow)
	length := udpLen + size
	udp := buf[t.udp:]
	payload := udp[udpLen:]
	t.Stamper.Put(payload, flow, seq, mono)

	addrs := t.walk.stamp(buf[t.ip:], flow)
	sum := t.pseudoSum + addrs + uint64(src) + uint64(dst) + 2*uint64(length) // also in the pseudo-header
	sum = checksum.Add(sum+uint64(t.tails[size]), payload[:t.Stamper.Format.Size()])
	binary.BigEndian.PutUint16(udp[udpChecksumField:], checksum.OfUDP(sum))
	t.stampHeaders(buf, src, dst, addrs, length)
	if t.padded {
		t.pad(payload[:minFrame-t.HeaderLen()], size)
	}
	return t.FrameLen(size)
}

// stampHeaders writes what varies in the headers of a UDP datagram of so many
// bytes, its addresses, whose sum is given, and its own checksum left aside.
func (t *Template) stampHeaders(buf []byte, src, dst uint16, addrs uint64, length int) {
	udp, ip := buf[t.udp:], buf[t.ip:]
	binary.BigEndian.PutUint16(udp[udpSrcPort:], src)
	binary.BigEndian.PutUint16(udp[udpDstPort:], dst)
	binary.BigEndian.PutUint16(udp[udpLength:], uint16(length))
	if t.udp-t.ip == ipv4Len {
		total := ipv4Len + length
		binary.BigEndian.PutUint16(ip[ipv4TotalLength:], uint16(total))
		binary.BigEndian.PutUint16(ip[ipv4Checksum:], ^checksum.Fold(t.ipSum+addrs+uint64(total)))
	} else {
		binary.BigEndian.PutUint16(ip[ipv6PayloadLength:], uint16(length))
	}
}

// StampSuper makes the headers of a super-frame: one frame whose payload is n
// payloads of size bytes, of consecutive packets of a flow, which the kernel or
// the device takes apart (VIRTIO_NET_HDR_GSO_UDP_L4 of <linux/virtio_net.h>). It
// writes the lengths and checksums of each datagram anew. For that the UDP
// checksum has to be what it is before the datagram's own bytes are added: the
// sum of the pseudo-header, folded and not complemented.
//
// The payloads begin HeaderLen bytes into the buffer, which has been through
// Fill; StampPayload stamps them. Together they are at most 65507 bytes.
func (t *Template) StampSuper(buf []byte, flow uint16, size, n int) {
	length := udpLen + n*size
	addrs := t.walk.stamp(buf[t.ip:], flow)
	binary.BigEndian.PutUint16(buf[t.udp+udpChecksumField:], checksum.Fold(t.pseudoSum+addrs+uint64(length)))
	src, dst := t.Headers.Ports(flow)
	t.stampHeaders(buf, src, dst, addrs, length)
}

// pad zeros the bytes behind the payload in the shortest frame, and lays the
// pattern again where an earlier packet left such zeros.
func (t *Template) pad(payload []byte, size int) {
	t.restore(payload)
	if size < len(payload) {
		clear(payload[size:])
	}
}

// restore lays the pattern over padding of an earlier packet.
func (t *Template) restore(payload []byte) {
	header := t.Stamper.Format.Size()
	copy(payload[header:], t.payload[header:])
}

// StampPayload is Stamp where the kernel makes the headers, or has StampSuper's: it
// writes the probe header of a flow's packet into a payload that has been through
// FillPayload or Fill. The payload's bytes behind its own size stay as they were.
func (t *Template) StampPayload(payload []byte, flow uint16, seq uint64, mono int64) {
	t.Stamper.Put(payload, flow, seq, mono)
	if t.padded {
		t.restore(payload[:min(len(payload), minFrame-t.HeaderLen())])
	}
}
