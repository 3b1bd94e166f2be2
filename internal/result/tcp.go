package result

// IntervalTCP is what TCP did for a sender in an interval. Its gauges, from Cwnd on,
// are of the interval's end; of several streams the sums, or the mean of times.
type IntervalTCP struct {
	Retransmits     *uint64  `json:"retransmits,omitempty"`     // segments
	CwndBytes       *uint64  `json:"cwnd_bytes,omitempty"`      // congestion window
	SendWindow      *uint64  `json:"snd_wnd_bytes,omitempty"`   // that the receiver advertised
	RTTNS           *int64   `json:"rtt_ns,omitempty"`          // smoothed
	RTTVarNS        *int64   `json:"rtt_var_ns,omitempty"`      // its mean deviation
	PMTU            *int     `json:"pmtu_bytes,omitempty"`      // path MTU that the kernel knows
	Reordering      *int     `json:"reordering,omitempty"`      // segments
	DeliveryBps     *float64 `json:"delivery_bps,omitempty"`    // latest delivery rate
	BusyNS          *int64   `json:"busy_ns,omitempty"`         // of the interval: with data to send
	RwndLimitedNS   *int64   `json:"rwnd_limited_ns,omitempty"` // of those: held by the receiver's window
	SndbufLimitedNS *int64   `json:"sndbuf_limited_ns,omitempty"`
	ConnectNS       *int64   `json:"connect_ns,omitempty"` // handshake; in the first interval alone
}

// SentTCP is what TCP did for a sender over the test.
type SentTCP struct {
	Retransmits     *uint64  `json:"retransmits,omitempty"`
	MaxCwndBytes    *uint64  `json:"max_cwnd_bytes,omitempty"` // as seen at the ends of intervals
	MaxSendWindow   *uint64  `json:"max_snd_wnd_bytes,omitempty"`
	RTTNS           *RTT     `json:"rtt_ns,omitempty"`
	MinRTTNS        *int64   `json:"min_rtt_ns,omitempty"` // the kernel's own minimum
	Reordering      *int     `json:"reordering,omitempty"`
	DeliveryBps     *float64 `json:"delivery_bps,omitempty"`
	BusyNS          *int64   `json:"busy_ns,omitempty"`
	RwndLimitedNS   *int64   `json:"rwnd_limited_ns,omitempty"`
	SndbufLimitedNS *int64   `json:"sndbuf_limited_ns,omitempty"`
	ConnectNS       *int64   `json:"connect_ns,omitempty"`      // handshake; of several streams the longest
	ShortfallBytes  *uint64  `json:"shortfall_bytes,omitempty"` // due by the rate and given up; in the total alone, absent without a rate
}

// RTT is of the smoothed round-trip times seen at the ends of intervals, in ns.
type RTT struct {
	Min  int64 `json:"min"`
	Mean int64 `json:"mean"`
	Max  int64 `json:"max"`
}

// A Stream is one socket of a coordinated test.
type Stream struct {
	ID     int    `json:"id"`     // as the protocol numbers them
	Local  string `json:"local"`  // ADDRESS:PORT
	Remote string `json:"remote"` // ADDRESS:PORT
	Sender bool   `json:"sender"` // whether this end sends on it
}
