package iperf3

import "encoding/json"

// Params is what the client asks the server for. A field that is zero isn't
// sent, save those that iperf3 3.12 always sends. Nothing here is checked; see
// Check.
type Params struct {
	TCP, UDP, SCTP bool // one of them; none is TCP

	Omit           int   // seconds before the counters are set to 0
	ServerAffinity int   // CPU of the server
	Time           int   // seconds after Omit; 0 without end, or with Num or BlockCount
	Num            int64 // payload bytes of all streams together; 0 is none
	BlockCount     int64 // blocks of all streams together; 0 is none
	MSS            int   // bytes
	NoDelay        bool
	Parallel       int // streams of each direction
	Reverse        bool
	Bidirectional  bool
	MPTCP          bool
	Window         int   // bytes of each socket buffer
	Len            int   // bytes of a block; of UDP a datagram's payload
	Bandwidth      int64 // bit/s of payload of each stream; 0 is unlimited
	FQRate         int64 // bit/s of each stream, by the kernel's pacing
	PacingTimer    int   // µs
	Burst          int   // packets sent back to back

	GSO, GRO      bool
	GSOSize       int // bytes of a datagram
	GSOBufferSize int // bytes
	GROBufferSize int // bytes

	TOS             int // the whole byte: DSCP in the upper six bits
	FlowLabel       int // of IPv6
	Title           string
	ExtraData       string
	Congestion      string // algorithm
	CongestionUsed  string
	GetServerOutput bool
	Counters64      bool // 64-bit numbers in UDP headers
	Repeating       bool // payload of repeated digits
	ZeroCopy        bool
	DontFragment    bool
	AuthToken       string // see Token
	SkipRxCopy      bool
	ClientVersion   string

	Extra json.RawMessage // what one linerate asks of another
}

// defaultTime is the seconds of a test without -t.
const defaultTime = 10

// members are in the order of 3.12.
func (p *Params) members() []member {
	return []member{
		{"tcp", (*presence)(&p.TCP), optional},
		{"udp", (*presence)(&p.UDP), optional},
		{"sctp", (*presence)(&p.SCTP), optional},
		{"omit", &p.Omit, always},
		{"server_affinity", &p.ServerAffinity, optional},
		{"time", &p.Time, always},
		{"num", &p.Num, always},
		{"blockcount", &p.BlockCount, always},
		{"MSS", &p.MSS, optional},
		{"nodelay", (*presence)(&p.NoDelay), optional},
		{"parallel", &p.Parallel, always},
		{"reverse", (*presence)(&p.Reverse), optional},
		{"bidirectional", (*presence)(&p.Bidirectional), optional},
		{"mptcp", (*presence)(&p.MPTCP), optional},
		{"window", &p.Window, optional},
		{"len", &p.Len, optional},
		{"bandwidth", &p.Bandwidth, optional},
		{"fqrate", &p.FQRate, optional},
		{"pacing_timer", &p.PacingTimer, optional},
		{"burst", &p.Burst, optional},
		{"gso", (*one)(&p.GSO), optional},
		{"gro", (*one)(&p.GRO), optional},
		{"gso_dg_size", &p.GSOSize, optional},
		{"gso_bf_size", &p.GSOBufferSize, optional},
		{"gro_bf_size", &p.GROBufferSize, optional},
		{"TOS", &p.TOS, optional},
		{"flowlabel", &p.FlowLabel, optional},
		{"title", &p.Title, optional},
		{"extra_data", &p.ExtraData, optional},
		{"congestion", &p.Congestion, optional},
		{"congestion_used", &p.CongestionUsed, optional},
		{"get_server_output", (*one)(&p.GetServerOutput), optional},
		{"udp_counters_64bit", (*one)(&p.Counters64), optional},
		{"repeating_payload", (*one)(&p.Repeating), optional},
		{"zerocopy", (*one)(&p.ZeroCopy), optional},
		{"dont_fragment", (*one)(&p.DontFragment), optional},
		{"authtoken", &p.AuthToken, optional},
		{"skip_rx_copy", (*one)(&p.SkipRxCopy), optional},
		{"client_version", &p.ClientVersion, optional},
		{"linerate", &p.Extra, optional},
	}
}

// MarshalJSON writes the parameters as 3.12 does, negative numbers as such.
func (p Params) MarshalJSON() ([]byte, error) { return encodeObject(p.members()) }

// UnmarshalJSON reads the parameters of any release. What is missing is as in a
// stock server: one stream, 10 s. With Num or BlockCount there is no time.
func (p *Params) UnmarshalJSON(b []byte) error {
	*p = Params{Parallel: 1, Time: defaultTime}
	if err := decodeObject(b, p.members()); err != nil {
		return err
	}
	if p.Num > 0 || p.BlockCount > 0 {
		p.Time = 0
	}
	return nil
}
