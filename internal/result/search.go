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
