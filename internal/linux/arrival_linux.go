package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// An Arrival is one message or frame that the kernel handed over. Its bytes stay
// valid until the batch or the block that it came in is used again.
type Arrival struct {
	Data []byte // as much as was captured
	Len  int    // bytes on arrival, captured or not
	Wall int64  // the kernel's receive stamp in ns since 1970 UTC; 0 if there is none

	Mono int64 // CLOCK_MONOTONIC in ns that the XDP program of an AF_XDP socket left; 0 if it left none

	// These only a packet socket knows.
	Status  uint32 // TP_STATUS_* of <linux/if_packet.h>
	TCI     uint16 // 802.1Q tag that the kernel took out of the frame, if Status has TP_STATUS_VLAN_VALID
	Segment int    // UDP payload bytes of each of the datagrams that GSO or GRO merged; 0 for an ordinary frame
}

// VirtioLen is the length of struct virtio_net_hdr of <linux/virtio_net.h>. A
// packet socket with PACKET_VNET_HDR puts it before each frame, in the byte order
// of the machine:
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
