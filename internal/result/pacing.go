package result

// A RateAt is a rate from a time after the start on.
type RateAt struct {
	FromS float64 `json:"from_s"`
	Rate  string  `json:"rate"` // as --rate takes it; "0" for silence
}

// Cadence is how evenly packets left or arrived.
type Cadence struct {
	GapNS *Gaps `json:"gap_ns,omitempty"`
	// LongestBurst is the most packets of which each was less than half the nominal
	// gap behind the one before; at the receiver, half the mean gap so far.
	LongestBurst uint64 `json:"longest_burst,omitempty"`
	// WorstWindow is by the length of the windows: 100ms, 1s. Absent where none holds
	// ten packets.
	WorstWindow map[string]Window `json:"worst_window,omitempty"`
}

// Gaps are of the times between departures or arrivals, in ns.
type Gaps struct {
	Percentiles
	// Within10Percent is the share within a tenth of the nominal gap: at the sender
	// that of the rate asked for, at the receiver the mean. Absent where sizes or
	// rates differ, so that there is no one nominal gap.
	Within10Percent *float64 `json:"within_10_percent,omitempty"`
}

// A Window is the extremes of the rate in windows of one length that follow one
// another.
type Window struct {
	Windows uint64 `json:"windows"` // that were over before the test was
	Least   *Rate  `json:"least"`
	Most    *Rate  `json:"most"`
	// Deviation is how far the worse of the two is from the rate asked for, at the
	// receiver from the mean: 0.001 is 0.1 %. Absent where the rate changes.
	Deviation *float64 `json:"deviation,omitempty"`
}
