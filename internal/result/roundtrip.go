package result

// RoundTrips is of probes that the peer sent back, beside the load and in none of
// its counts. Sent are those that left here; Lost did not come back. Times leave out
// what the peer kept each probe for.
type RoundTrips struct {
	Sent   uint64 `json:"sent"`
	Lost   uint64 `json:"lost"`
	*Times        // nil if none came back
}

// Connects is of TCP handshakes: those that were tried and those of them that no
// connection came of.
type Connects struct {
	Tried  uint64 `json:"tried"`
	Failed uint64 `json:"failed"`
	*Times        // nil if all failed
}

// Bounces is of requests, each of which waited for the answer to the one before; it may
// have gone beside a load, and is in none of its counts.
type Bounces struct {
	PayloadBytes int     `json:"payload_bytes"` // of a request, and of its answer
	Tried        uint64  `json:"tried"`
	Lost         uint64  `json:"lost"`       // no answer came within a second
	PerSecond    float64 `json:"per_second"` // of those that were answered
	*Times               // nil if none was
}

// Times is a distribution of times in ns.
type Times struct {
	Min  int64 `json:"min"`
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`

	Histogram []Bucket `json:"histogram,omitempty"` // only with --histogram
}
