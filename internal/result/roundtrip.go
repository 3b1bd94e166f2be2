package result

// RoundTrips is of probes that the peer sent back, beside the load and in none of
// its counts. Sent are those that left here; Lost did not come back.
type RoundTrips struct {
	Sent       uint64 `json:"sent"`
	Lost       uint64 `json:"lost"`
	*TripTimes        // nil if none came back
}

// TripTimes are of round trips in ns, less what the peer kept each probe for.
type TripTimes struct {
	Min  int64 `json:"min"`
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`

	Histogram []Bucket `json:"histogram,omitempty"` // only with --histogram
}
