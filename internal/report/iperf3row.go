package report

// An iperf3Row is the numbers of one stream or of all streams of a lane, over an
// interval or over the test: an object of iperf3's JSON and a line of its text.
// Times are in seconds from the start, and anew from the end of what is omitted.
type iperf3Row struct {
	Socket        *int    `json:"socket,omitempty"` // absent in sums
	Start         float64 `json:"start"`
	End           float64 `json:"end"`
	Seconds       float64 `json:"seconds"`
	Bytes         uint64  `json:"bytes"` // of payload; those of duplicates are left out
	BitsPerSecond float64 `json:"bits_per_second"`

	// TCP's sender alone.
	Retransmits *uint64 `json:"retransmits,omitempty"` // segments
	*iperf3Gauges
	Reorder *int `json:"reorder,omitempty"` // segments
	*iperf3Extremes

	// UDP alone. Packets of a receiver are what came once and what was lost.
	JitterMS    *float64 `json:"jitter_ms,omitempty"`
	LostPackets *uint64  `json:"lost_packets,omitempty"`
	Packets     *uint64  `json:"packets,omitempty"`
	LostPercent *float64 `json:"lost_percent,omitempty"`
	OutOfOrder  *uint64  `json:"out_of_order,omitempty"` // of a stream over the test

	Omitted *bool `json:"omitted,omitempty"` // of an interval
	Sender  bool  `json:"sender"`
}

// iperf3Gauges is what TCP_INFO told at an interval's end, in bytes and µs. A 0 is
// unknown: iperf3's format has no other word for that.
type iperf3Gauges struct {
	SndCwnd uint64 `json:"snd_cwnd"`
	SndWnd  uint64 `json:"snd_wnd"`
	RTT     int64  `json:"rtt"`
	RTTVar  int64  `json:"rttvar"`
	PMTU    int    `json:"pmtu"`
}

// iperf3Extremes is what TCP_INFO told over a test, in bytes and µs; 0 is unknown.
type iperf3Extremes struct {
	MaxSndCwnd uint64 `json:"max_snd_cwnd"`
	MaxSndWnd  uint64 `json:"max_snd_wnd"`
	MaxRTT     int64  `json:"max_rtt"`
	MinRTT     int64  `json:"min_rtt"`
	MeanRTT    int64  `json:"mean_rtt"`
}

// newRow is a row without what only one protocol has.
func newRow(start, end float64, bytes uint64, sends bool) iperf3Row {
	row := iperf3Row{Start: start, End: end, Seconds: end - start, Bytes: bytes, Sender: sends}
	if row.Seconds > 0 {
		row.BitsPerSecond = 8 * float64(bytes) / row.Seconds
	}
	return row
}

// tell adds what a receiver of UDP tells of its packets.
func (row *iperf3Row) tell(unique, lost uint64, jitterNS *int64) {
	packets := unique + lost
	row.LostPackets, row.Packets = &lost, &packets
	row.JitterMS, row.LostPercent = new(float64), new(float64)
	if jitterNS != nil {
		*row.JitterMS = float64(*jitterNS) / 1e6
	}
	if packets > 0 {
		*row.LostPercent = 100 * float64(lost) / float64(packets)
	}
}

// orZero is what p points to, or nothing counted.
func orZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// ofStream is the part of stream i in what a lane counted: the whole where it has
// one stream, else its flow, which may have counted nothing. It is nil where
// nothing tells the streams apart.
func ofStream[T any](l *lane, i int, whole *T, flows []T, flow func(*T) *uint16) *T {
	if len(l.sockets) == 1 {
		return whole
	}
	if len(flows) == 0 {
		return nil
	}
	for k := range flows {
		if f := flow(&flows[k]); f != nil && int(*f) == i {
			return &flows[k]
		}
	}
	return new(T)
}

// meanJitter gives the mean over flows, as iperf3 sums jitter up, or else own.
func meanJitter[T any](own *int64, flows []T, jitter func(*T) *int64) *int64 {
	var sum, n int64
	for i := range flows {
		if j := jitter(&flows[i]); j != nil {
			sum, n = sum+*j, n+1
		}
	}
	if n == 0 {
		return own
	}
	mean := sum / n
	return &mean
}
