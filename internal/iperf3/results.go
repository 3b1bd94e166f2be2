package iperf3

import "encoding/json"

// Results is what one end says of the whole test after its end.
type Results struct {
	CPUTotal, CPUUser, CPUSystem float64 // percent of one CPU

	// SenderHasRetransmits is 1 if this end sends and counts retransmits, 0 if
	// it sends and can't, -1 if it only receives.
	SenderHasRetransmits int
	CongestionUsed       string          // of TCP
	ServerOutputText     string          // the server's report, if it was asked for,
	ServerOutputJSON     json.RawMessage // in one of two forms
	Streams              []StreamResult  // in the order in which they were made

	Extra json.RawMessage // what one linerate tells another
}

// A StreamResult is one stream as one of its ends saw it.
type StreamResult struct {
	ID          int     // see StreamID
	Bytes       int64   // of payload, after what is omitted
	Retransmits int64   // -1 if unknown
	Jitter      float64 // seconds, as estimated at the end
	// Errors are the datagrams that the receiver missed, and Packets the highest
	// number that it saw; of a sender 0, and how many it sent. Both run from the
	// start of the test. The omitted ones are their state when omitting ended.
	Errors, OmittedErrors   int64
	Packets, OmittedPackets int64
	StartTime, EndTime      float64 // seconds; StartTime is 0
}

func (r *Results) members() []member {
	return []member{
		{"cpu_util_total", &r.CPUTotal, required},
		{"cpu_util_user", &r.CPUUser, required},
		{"cpu_util_system", &r.CPUSystem, required},
		{"sender_has_retransmits", &r.SenderHasRetransmits, required},
		{"congestion_used", &r.CongestionUsed, optional},
		{"server_output_text", &r.ServerOutputText, optional},
		{"server_output_json", &r.ServerOutputJSON, optional},
		{"streams", &r.Streams, required},
		{"linerate", &r.Extra, optional},
	}
}

// The omitted ones are written always: without them a client of 3.14 or later
// takes the whole loss for omitted.
func (s *StreamResult) members() []member {
	return []member{
		{"id", &s.ID, required},
		{"bytes", &s.Bytes, required},
		{"retransmits", &s.Retransmits, required},
		{"jitter", &s.Jitter, required},
		{"errors", &s.Errors, required},
		{"omitted_errors", &s.OmittedErrors, always},
		{"packets", &s.Packets, required},
		{"omitted_packets", &s.OmittedPackets, always},
		{"start_time", &s.StartTime, always},
		{"end_time", &s.EndTime, always},
	}
}

// MarshalJSON writes the results so that every release reads them.
func (r Results) MarshalJSON() ([]byte, error) { return encodeObject(r.members()) }

// UnmarshalJSON reads the results of any release. It names a key that is missing
// and that iperf3 itself would miss.
func (r *Results) UnmarshalJSON(b []byte) error {
	*r = Results{}
	return decodeObject(b, r.members())
}

// MarshalJSON writes one of the "streams" of Results.
func (s StreamResult) MarshalJSON() ([]byte, error) { return encodeObject(s.members()) }

// UnmarshalJSON reads one of the "streams" of Results.
func (s *StreamResult) UnmarshalJSON(b []byte) error {
	*s = StreamResult{}
	return decodeObject(b, s.members())
}
