package tcp

import "time"

// Info is what the kernel knows of one connection at one instant (TCP_INFO of
// tcp(7), struct tcp_info of linux/tcp.h). Counts are since the handshake. What
// is nil the kernel does not tell, or not yet.
type Info struct {
	RTT    *time.Duration // smoothed round trip (RFC 6298), to 1 µs
	RTTVar *time.Duration // its mean deviation (RFC 6298), to 1 µs
	MinRTT *time.Duration // least round trip of the last minutes, to 1 µs

	PMTU             uint32  // bytes of IP packet that the path takes
	CongestionWindow uint64  // bytes: the kernel's segments times the MSS
	SendWindow       *uint32 // bytes that the peer is ready to take

	Retransmits uint32 // segments sent again
	Reordering  uint32 // segments by which the path is held to reorder

	DeliveryRate *uint64 // payload bytes per second that lately were acknowledged
	PacingRate   *uint64 // bytes per second that may leave; nil if unbounded

	BytesAcked *uint64 // payload that the peer acknowledged

	Busy          *time.Duration // with data to send or unacknowledged
	WindowLimited *time.Duration // of it, held back by the peer's window
	SndbufLimited *time.Duration // of it, held back by the send buffer
}
