package result

// Found is what a row of search came to.
type Found struct {
	Goal      string  `json:"goal"`       // ndr: nothing lost; pdr: no more than LossRatio
	LossRatio float64 `json:"loss_ratio"` // that a trial may lose
	Method    string  `json:"method"`
	// PPS is the highest rate in packets/s at which trials lost no more, or what was
	// sent in the best of them where that is less than was asked for. UpperPPS is
	// the lowest known at which they lost more; absent where there is none.
	PPS      *float64 `json:"pps,omitempty"`
	UpperPPS *float64 `json:"upper_pps,omitempty"`
	// ConditionalPPS is the conditional throughput of MLRsearch at PPS.
	ConditionalPPS *float64 `json:"conditional_pps,omitempty"`
	LineRatio      *float64 `json:"line_ratio,omitempty"` // of the link's speed; absent where that is unknown
	// SpreadPPS is the least and the most that arrived in the trials at PPS.
	SpreadPPS *[2]float64 `json:"spread_pps,omitempty"`
	Reason    string      `json:"reason"` // why the search stopped
	// Of rfc2544, of the rate that loses nothing.
	Latency    *Latency    `json:"latency,omitempty"`
	BackToBack *BackToBack `json:"back_to_back,omitempty"` // absent where that is the highest rate, too
}

// Latency is of runs at the rate that was found (RFC 2544, section 26.2).
type Latency struct {
	DurationS float64 `json:"duration_s"` // of a run
	// One way, from just before the sender's kernel got a packet to its arrival in
	// the receiver's, and round trips of probes beside the load; absent where a run
	// has none.
	DelayNS *LatencyTimes `json:"delay_ns,omitempty"`
	RTTNS   *LatencyTimes `json:"rtt_ns,omitempty"`
	Runs    []LatencyRun  `json:"runs"`
}

// LatencyTimes are of all runs, in ns: the least, the median of their medians, the
// largest of their 99th percentiles, and the largest.
type LatencyTimes struct {
	Min   int64  `json:"min"`
	P50   int64  `json:"p50"`
	P99   int64  `json:"p99"`
	Max   int64  `json:"max"`
	Clock string `json:"clock,omitempty"` // as of Delay
}

// A LatencyRun is one run.
type LatencyRun struct {
	Lost    uint64 `json:"lost"`
	DelayNS *Delay `json:"delay_ns,omitempty"`
	RTTNS   *Times `json:"rtt_ns,omitempty"`
}

// BackToBack is the longest burst at the highest rate that was tried of which
// nothing was lost (RFC 2544, section 26.4), and what it says of the buffer on the
// way (RFC 9004, section 6.4).
type BackToBack struct {
	PPS          float64  `json:"pps"`    // within a burst
	Frames       float64  `json:"frames"` // mean of Bursts
	Min          uint64   `json:"min_frames"`
	Max          uint64   `json:"max_frames"`
	StdDev       *float64 `json:"stddev_frames,omitempty"` // absent for one burst
	ImpliedS     float64  `json:"implied_buffer_s"`        // as if nothing left it meanwhile
	CorrectedS   float64  `json:"corrected_buffer_s"`
	BufferFrames float64  `json:"corrected_buffer_frames"`
	Bursts       []uint64 `json:"bursts"` // the longest of each search
	Trials       []Trial  `json:"trials"`
}

// Offered is what a trial of search or sweep was asked for and what held it up.
type Offered struct {
	PPS       float64     `json:"offered_pps"` // as it was asked for
	DurationS float64     `json:"duration_s"`
	Shortfall uint64      `json:"shortfall"`           // packets due that were not sent, and count as lost
	LossRatio float64     `json:"loss_ratio"`          // of what was due
	Queued    *float64    `json:"queued,omitempty"`    // by how much less than was sent came out, in parts of it, where nothing was lost
	Again     bool        `json:"again,omitempty"`     // the sender fell behind and the trial was run again: it does not count
	LossCI95  *[2]float64 `json:"loss_ci95,omitempty"` // Wilson interval of the loss ratio
}
