package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// VirtioLen is the length of struct virtio_net_hdr of <linux/virtio_net.h>. A
// packet socket with PACKET_VNET_HDR puts it before each frame, and wants it there,
// in the byte order of the machine:
//
//	0 flags  1 GSO type  2 header length  4 GSO size  6 checksum start  8 checksum offset
const VirtioLen = 10

// segment reads how long the parts of a super-frame are.
func segment(virtio []byte) int {
	if virtio[1]&^unix.VIRTIO_NET_HDR_GSO_ECN != unix.VIRTIO_NET_HDR_GSO_UDP_L4 {
		return 0
	}
	return int(binary.NativeEndian.Uint16(virtio[4:]))
}

// PutVirtio describes the frame behind it: headers bytes down to the end of the UDP
// header, and then payloads of segment bytes each, of which the kernel makes
// datagrams with their own checksums. A segment of 0 is a frame that is sent as it
// is.
func PutVirtio(virtio []byte, headers, segment int) {
	clear(virtio[:VirtioLen])
	if segment == 0 {
		return
	}
	const udpLen, udpChecksum = 8, 6 // RFC 768
	virtio[0], virtio[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, unix.VIRTIO_NET_HDR_GSO_UDP_L4
	binary.NativeEndian.PutUint16(virtio[2:], uint16(headers))
	binary.NativeEndian.PutUint16(virtio[4:], uint16(segment))
	binary.NativeEndian.PutUint16(virtio[6:], uint16(headers-udpLen))
	binary.NativeEndian.PutUint16(virtio[8:], udpChecksum)
}
