package tcp

import "time"

// Info is what the kernel knows of one connection at one instant (TCP_INFO of
// tcp(7), struct tcp_info of linux/tcp.h). Counts are since the handshake. What
// is nil the kernel does not tell, or not yet.
type Info struct {
	State string // "established", "close-wait" and so on, as ss(8) writes them

	RTT    *time.Duration // smoothed round trip (RFC 6298), to 1 µs
	RTTVar *time.Duration // its mean deviation (RFC 6298), to 1 µs
	MinRTT *time.Duration // least round trip of the last minutes, to 1 µs

	SendMSS uint32 // bytes of payload in a full segment that leaves
	RecvMSS uint32 // the same of those that arrive, as guessed from them
	PMTU    uint32 // bytes of IP packet that the path takes

	// CongestionWindow and SlowStartThreshold are in bytes: the kernel's segments
	// times SendMSS. The threshold is nil until the first congestion.
	CongestionWindow   uint64
	SlowStartThreshold *uint64
	SendWindow         *uint32 // bytes that the peer is ready to take

	Retransmits uint32 // segments sent again
	Lost        uint32 // segments now held for lost
	Reordering  uint32 // segments by which the path is held to reorder

	DeliveryRate *uint64 // payload bytes per second that lately were acknowledged
	PacingRate   *uint64 // bytes per second that may leave; nil if unbounded

	BytesSent     *uint64 // payload, retransmissions included
	BytesRetrans  *uint64 // payload sent again
	BytesAcked    *uint64 // payload that the peer acknowledged
	BytesReceived *uint64 // payload that arrived in order
	NotSent       *uint32 // payload bytes that wait in the send buffer

	Busy           *time.Duration // with data to send or unacknowledged
	WindowLimited  *time.Duration // of it, held back by the peer's window
	SndbufLimited  *time.Duration // of it, held back by the send buffer
	DeliveredCE    *uint32        // segments acknowledged with a congestion mark (RFC 3168)
	ReorderingSeen *uint32        // reorderings noticed
	Timeouts       *uint32        // retransmission timeouts
}
