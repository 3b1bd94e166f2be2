package linux

// An Arrival is one message or frame that the kernel handed over. Its bytes stay
// valid until the batch or the block that it came in is used again.
type Arrival struct {
	Data []byte // as much as was captured
	Len  int    // bytes on arrival, captured or not
	Wall int64  // the kernel's receive stamp in ns since 1970 UTC; 0 if there is none

	// Segment is the UDP payload bytes of each of the datagrams that GSO or GRO
	// merged; 0 for an ordinary one, and where the socket does not tell.
	Segment int
	Mono    int64 // CLOCK_MONOTONIC in ns that the XDP program of an AF_XDP socket left; 0 if it left none

	TOS uint8 // IPv4 TOS or IPv6 traffic class, of a UDP socket that tells it

	// These only a packet socket knows.
	Status uint32 // TP_STATUS_* of <linux/if_packet.h>
	TCI    uint16 // 802.1Q tag that the kernel took out of the frame, if Status has TP_STATUS_VLAN_VALID
}
