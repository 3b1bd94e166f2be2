// Package result is the schema of the report: what --json prints and what every
// other format is made from. It has no behaviour. SI units stand in the names,
// counts are exact, ratios are 0..1, and what is unknown is absent.
package result

import "encoding/json"

// Schema is the version of the report; it grows only when a key changes meaning.
const Schema = 1

// A Report is the whole outcome of one command.
type Report struct {
	Schema    int         `json:"schema"`
	Linerate  string      `json:"linerate"` // version
	Command   string      `json:"command"`
	Started   string      `json:"started"` // RFC 3339 with nanoseconds
	Config    *Config     `json:"config,omitempty"`
	Intervals []Interval  `json:"intervals,omitempty"`
	Sender    *Sender     `json:"sender,omitempty"`
	Receiver  *Receiver   `json:"receiver,omitempty"`
	Ledger    *Ledger     `json:"ledger,omitempty"`
	Reverse   *Direction  `json:"reverse,omitempty"`    // the second direction of --bidir
	RTTNS     *RoundTrips `json:"rtt_ns,omitempty"`     // of probes of their own, with --rtt
	BounceNS  *Bounces    `json:"bounce_ns,omitempty"`  // test --bounce
	ConnectNS *Connects   `json:"connect_ns,omitempty"` // test --connect-only
	Streams   []Stream    `json:"streams,omitempty"`    // sockets of a coordinated test, in order of their opening
	Hosts     []Host      `json:"hosts,omitempty"`
	Limit     *Limit      `json:"limit,omitempty"`
	Results   []Row       `json:"results,omitempty"`
	Replay    *Replay     `json:"replay,omitempty"`
	NotHere   []NotHere   `json:"not_here,omitempty"` // paths that compare could not run
	Findings  []Finding   `json:"findings,omitempty"` // doctor
	Warnings  []string    `json:"warnings,omitempty"`
	// The server's own report, where it was asked for: text, or of an iperf3 with -J
	// its JSON.
	ServerText string          `json:"server_output_text,omitempty"`
	ServerJSON json.RawMessage `json:"server_output_json,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// A Direction is the account of what one end sent to the other.
type Direction struct {
	Sender   *Sender   `json:"sender,omitempty"`
	Receiver *Receiver `json:"receiver,omitempty"`
	Ledger   *Ledger   `json:"ledger,omitempty"`
}

// Config is what was asked for, after defaults and the kernel's tables were applied.
type Config struct {
	Protocol    string `json:"protocol"`
	Path        string `json:"path,omitempty"`
	PathReason  string `json:"path_reason,omitempty"` // why auto chose it, and why the faster ones were passed over
	RX          string `json:"rx,omitempty"`
	Peer        string `json:"peer"`
	Direction   string `json:"direction"`
	Format      string `json:"format,omitempty"`
	Interface   string `json:"interface,omitempty"`
	Source      string `json:"source,omitempty"`      // address without port
	Destination string `json:"destination,omitempty"` // address:port
	From        string `json:"from,omitempty"`        // source addresses that a receiver counts
	Filter      string `json:"filter,omitempty"`      // what else it demands, as --filter takes it
	// What the flows take in turn, as "first-last".
	Sources          string `json:"sources,omitempty"`
	Destinations     string `json:"destinations,omitempty"`
	SourcePorts      string `json:"source_ports,omitempty"`
	DestinationPorts string `json:"destination_ports,omitempty"`

	SourceMAC  string   `json:"source_mac,omitempty"`
	NextHopMAC string   `json:"next_hop_mac,omitempty"`
	Gateway    string   `json:"gateway,omitempty"`
	VLAN       *int     `json:"vlan,omitempty"`
	RateBps    float64  `json:"rate_bps,omitempty"` // absent for a rate in packets or max
	RatePps    float64  `json:"rate_pps,omitempty"` // absent for max
	Rate       string   `json:"rate,omitempty"`     // as --rate takes it, in bits: "500M", "max"
	Profile    []RateAt `json:"profile,omitempty"`  // of a rate that changes, in place of the three above
	// Isochronous is of a test in bursts, in place of rate and profile.
	Isochronous  *Isochronous `json:"isochronous,omitempty"`
	Layer        string       `json:"layer,omitempty"`
	FrameBytes   int          `json:"frame_bytes,omitempty"` // with FCS; absent for a mix
	PayloadBytes int          `json:"payload_bytes,omitempty"`
	IMIX         string       `json:"imix,omitempty"`
	Flows        int          `json:"flows,omitempty"`
	Burst        int          `json:"burst,omitempty"` // most packets planned back to back
	Threads      int          `json:"threads,omitempty"`
	CPUs         []int        `json:"cpus,omitempty"`     // that the threads were kept to, in turn
	Realtime     bool         `json:"realtime,omitempty"` // the threads ran before all ordinary ones
	Queue        *int         `json:"queue,omitempty"`    // of the interface, that the first thread had to itself
	DurationS    float64      `json:"duration_s,omitempty"`
	OmitS        float64      `json:"omit_s,omitempty"` // seconds at the start that no total holds
	Count        uint64       `json:"count,omitempty"`
	Bytes        int64        `json:"bytes,omitempty"`              // of payload, where they end the test
	TOS          int          `json:"tos,omitempty"`                // the byte of the IP header
	WindowAsked  int          `json:"window_asked_bytes,omitempty"` // of the socket buffer at this end
	WindowGot    int          `json:"window_got_bytes,omitempty"`   // in the same measure: half of what getsockopt says
	MSS          int          `json:"mss_bytes,omitempty"`          // TCP maximum segment size in use
	Congestion   string       `json:"congestion,omitempty"`         // TCP congestion control in use
	PaceBps      float64      `json:"pace_bps,omitempty"`           // most that the kernel was to let leave of each TCP stream

	// Of a coordinated test.
	PeerCongestion string `json:"peer_congestion,omitempty"`   // TCP congestion control at the other end
	ControlMSS     int    `json:"control_mss_bytes,omitempty"` // of the control connection, at the client
}

// Isochronous is what was asked for of bursts at an even beat: the mean and the
// standard deviation are of what they come to in bits a second at the test's layer.
type Isochronous struct {
	BurstsPerS float64 `json:"bursts_per_s"`
	MeanBps    float64 `json:"mean_bps"`
	StdDevBps  float64 `json:"stddev_bps"`
}

// An Interval is one line of the live report; times count from the start.
type Interval struct {
	StartS   float64           `json:"start_s"`
	EndS     float64           `json:"end_s"`
	Omitted  bool              `json:"omitted,omitempty"` // of the seconds that no total holds
	Sender   *SenderInterval   `json:"sender,omitempty"`
	Receiver *ReceiverInterval `json:"receiver,omitempty"`
	Reverse  *ReverseInterval  `json:"reverse,omitempty"`
	Hosts    []Host            `json:"hosts,omitempty"` // with the counters that rose
}

// ReverseInterval is an interval of the second direction of --bidir.
type ReverseInterval struct {
	Sender   *SenderInterval   `json:"sender,omitempty"`
	Receiver *ReceiverInterval `json:"receiver,omitempty"`
}

// SenderInterval is what left in an interval.
type SenderInterval struct {
	PayloadBytes  uint64  `json:"payload_bytes"`
	Seconds       float64 `json:"seconds"`
	Rate          *Rate   `json:"rate,omitempty"`
	*IntervalSent         // nil over TCP
	*IntervalTCP          // nil but over TCP

	Flow  *uint16          `json:"flow,omitempty"` // in Flows: which
	Flows []SenderInterval `json:"flows,omitempty"`
}

// IntervalSent is what left in an interval in packets.
type IntervalSent struct {
	Packets     uint64 `json:"packets"`
	LatePackets uint64 `json:"late_packets"`
	Shortfall   uint64 `json:"shortfall"`
}

// ReceiverInterval is what came in an interval.
type ReceiverInterval struct {
	PayloadBytes     uint64  `json:"payload_bytes"`
	Seconds          float64 `json:"seconds"`
	Rate             *Rate   `json:"rate,omitempty"`
	*IntervalArrived         // nil over TCP

	Flow  *uint16            `json:"flow,omitempty"` // in Flows: which
	Flows []ReceiverInterval `json:"flows,omitempty"`
}

// IntervalArrived is what came in an interval in packets. Lost is provisional: a late
// packet may fill a gap of an earlier interval. The last interval has what the
// end of the test showed to be lost.
type IntervalArrived struct {
	Packets            uint64  `json:"packets"`
	UniquePayloadBytes uint64  `json:"unique_payload_bytes"`
	Unique             uint64  `json:"unique"`
	Lost               uint64  `json:"lost"`
	Duplicates         uint64  `json:"duplicates"`
	Reordered          uint64  `json:"reordered"`
	BeyondWindow       uint64  `json:"beyond_window"`
	Foreign            uint64  `json:"foreign"`
	Corrupt            *uint64 `json:"corrupt,omitempty"`
	JitterNS           *int64  `json:"jitter_ns,omitempty"`
}

// Rate is one rate at every layer: L1 with preamble and gap, L2 with FCS, L3 the
// IP packet, L4 the payload of UDP or TCP. Over TCP, whose packets nobody here
// sees, L4 stands alone.
type Rate struct {
	PPS   float64 `json:"pps,omitempty"`
	L1Bps float64 `json:"l1_bps,omitempty"`
	L2Bps float64 `json:"l2_bps,omitempty"`
	L3Bps float64 `json:"l3_bps,omitempty"`
	L4Bps float64 `json:"l4_bps"`
}

// Percentiles are of a distribution in ns, or in packets where the field says so.
type Percentiles struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Sender is what left.
type Sender struct {
	PayloadBytes uint64  `json:"payload_bytes"`
	Seconds      float64 `json:"seconds,omitempty"`
	Rate         *Rate   `json:"rate,omitempty"`
	*SentPackets         // nil over TCP
	*SentPacing          // nil over TCP, and of a stock peer
	*SentTCP             // nil but over TCP

	Flow  *uint16  `json:"flow,omitempty"` // in Flows: which
	Flows []Sender `json:"flows,omitempty"`
}

// SentPackets is what left in packets.
type SentPackets struct {
	Packets uint64 `json:"packets"`
}

// SentPacing is how packets left.
type SentPacing struct {
	RateErrorPPM *float64 `json:"rate_error_ppm,omitempty"` // long-run, against what was asked
	LatePackets  uint64   `json:"late_packets"`
	Cadence               // of departures; empty without a rate
	SuperPackets int      `json:"super_packets,omitempty"` // most packets handed to the kernel as one super-frame; absent if none were
	Refused      uint64   `json:"refused"`                 // times that the kernel refused a packet
	Shortfall    uint64   `json:"shortfall"`               // packets due that were given up
	Bursts       *Bursts  `json:"bursts,omitempty"`        // nil but of isochronous traffic
	NSPerPacket  *float64 `json:"ns_per_packet,omitempty"` // the sending thread's CPU time; absent for a paced test, where it spins
}

// Bursts is what left of isochronous traffic, in payload. A burst that was given up
// whole is none.
type Bursts struct {
	Sent        uint64  `json:"sent"`
	MeanBytes   float64 `json:"mean_bytes"`
	StdDevBytes float64 `json:"stddev_bytes"` // of all bursts, not of a sample
}

// Receiver is what arrived.
type Receiver struct {
	PayloadBytes    uint64  `json:"payload_bytes"`
	Source          string  `json:"source,omitempty"`  // acked: PayloadBytes is what the receiver's TCP acknowledged
	Seconds         float64 `json:"seconds,omitempty"` // absent before a second packet
	Rate            *Rate   `json:"rate,omitempty"`    // of unique packets
	*ArrivedPackets         // nil over TCP
	*Arrivals               // nil over TCP, and of a stock peer
	CorruptBytes    *uint64 `json:"corrupt_bytes,omitempty"` // over TCP, with --verify: those that differ from the pattern

	Flow  *uint16    `json:"flow,omitempty"` // in Flows: which
	Flows []Receiver `json:"flows,omitempty"`
}

// ArrivedPackets is what arrived in packets. Packets = Unique + Duplicates +
// BeyondWindow; with the sender's count, sent = Unique + Lost. Of a stock peer,
// which does not tell copies from first ones, Duplicates are at least so many.
type ArrivedPackets struct {
	Packets          uint64   `json:"packets"`
	Unique           uint64   `json:"unique"`
	Lost             uint64   `json:"lost"`
	LossRatio        *float64 `json:"loss_ratio,omitempty"`
	LossIsLowerBound bool     `json:"loss_is_lower_bound,omitempty"` // no sender's count came
	Duplicates       uint64   `json:"duplicates"`
	OutOfOrder       *uint64  `json:"out_of_order,omitempty"` // late ones and duplicates together, as an iperf 2 server tells of them
	JitterNS         *int64   `json:"jitter_ns,omitempty"`
}

// Arrivals is how packets arrived.
type Arrivals struct {
	UniquePayloadBytes uint64       `json:"unique_payload_bytes"`
	Reordered          uint64       `json:"reordered"`
	ReorderExtentMax   uint64       `json:"reorder_extent_max"`
	Gaps               uint64       `json:"gaps"` // loss periods (RFC 3357)
	LossBurst          *LossBurst   `json:"loss_burst,omitempty"`
	BeyondWindow       uint64       `json:"beyond_window"`
	Foreign            uint64       `json:"foreign"`
	Corrupt            *uint64      `json:"corrupt,omitempty"`        // packets, only with --verify
	Reflected          *uint64      `json:"reflected,omitempty"`      // probes sent back; only with --reflect
	MergedPackets      uint64       `json:"merged_packets,omitempty"` // came in super-frames that GSO left or GRO made, and were split
	MergedFrames       uint64       `json:"merged_frames,omitempty"`  // these super-frames
	Cadence                         // of arrivals of first copies, all flows together
	IPDVNS             *Percentiles `json:"ipdv_ns,omitempty"` // of |IPDV|
	PDVNS              *Percentiles `json:"pdv_ns,omitempty"`  // delay less the least (RFC 5481)
	DelayNS            *Delay       `json:"delay_ns,omitempty"`
	NSPerPacket        *float64     `json:"ns_per_packet,omitempty"` // the counting threads' CPU time; in the total alone
}

// LossBurst is of the lengths of loss periods, in packets.
type LossBurst struct {
	Max uint64 `json:"max"`
	P50 uint64 `json:"p50"`
}

// Delay is one-way delay with its clock named: same, synchronised or relative
// (the minimum removed).
type Delay struct {
	Min   int64  `json:"min"`
	P50   int64  `json:"p50"`
	P99   int64  `json:"p99"`
	P999  int64  `json:"p999"`
	Max   int64  `json:"max"`
	Clock string `json:"clock"`
	// ErrorBoundNS is how wrong each of these can be, by what both kernels say of
	// their clocks' distance from true time. For synchronised clocks alone.
	ErrorBoundNS *int64 `json:"error_bound_ns,omitempty"`

	Histogram []Bucket `json:"histogram,omitempty"` // only with --histogram
}

// Ledger says where each lost packet was lost. Lost sums to what the receiver
// lost, less Unexplained.
type Ledger struct {
	Sent        *uint64 `json:"sent,omitempty"` // absent if the sender's count is unknown
	Arrived     uint64  `json:"arrived"`
	Lost        []Stage `json:"lost"`
	Unexplained uint64  `json:"unexplained"`
}

// A Stage is one place where packets were lost.
type Stage struct {
	Stage    string  `json:"stage"`
	Host     string  `json:"host,omitempty"`
	Packets  uint64  `json:"packets"`
	AtMost   *uint64 `json:"at_most,omitempty"`
	Evidence string  `json:"evidence"`
	Advice   string  `json:"advice,omitempty"`
}

// Limit is what held the rate of the test, in one sentence with the numbers.
type Limit struct {
	By  string `json:"by"`
	Why string `json:"why"`
}

// A Row is one line of a table: compare, search, sweep.
type Row struct {
	Config      Config      `json:"config"`
	Sender      *Sender     `json:"sender,omitempty"`
	Receiver    *Receiver   `json:"receiver,omitempty"`
	Trials      []Trial     `json:"trials"`
	Family      string      `json:"family,omitempty"` // kernel, raw
	*RowRate                // nil for mtu without --rate, and where search found none
	NSPerPacket *float64    `json:"ns_per_packet,omitempty"` // sender's CPU time
	ReceiverNS  *float64    `json:"receiver_ns_per_packet,omitempty"`
	Ratio       *float64    `json:"ratio,omitempty"` // to the udp row, paired by trial
	RatioCI95   *[2]float64 `json:"ratio_ci95,omitempty"`
	Found       *Found      `json:"found,omitempty"` // search
	*MTU                    // mtu
}

// A RowRate is the rate that a row stands for: of compare and sweep what arrived
// (the median of the trials, the worst one), of search what it found.
type RowRate struct {
	PPS   float64 `json:"pps"`
	L2Bps float64 `json:"l2_bps"`
}

// A Trial is one measurement behind a row.
type Trial struct {
	PPS         float64  `json:"pps"`
	L2Bps       float64  `json:"l2_bps"`
	Sent        uint64   `json:"sent"`
	Unique      uint64   `json:"unique"`
	Lost        uint64   `json:"lost"`
	NSPerPacket *float64 `json:"ns_per_packet,omitempty"`
	ReceiverNS  *float64 `json:"receiver_ns_per_packet,omitempty"`
	*Offered             // nil for compare
}

// NotHere is a path that can't run on this machine, and why.
type NotHere struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// A Finding is one line of doctor.
type Finding struct {
	Level string `json:"level"` // ok, warn
	What  string `json:"what"`
	Mend  string `json:"mend,omitempty"` // the command that mends it
}
