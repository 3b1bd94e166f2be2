package iperf3

import (
	"time"

	"linerate/internal/result"
)

// An Ask is what one linerate asks of another in Params.Extra: what iperf3's own
// keys have no room for. Rates and durations are of the whole test, not of one
// stream.
type Ask struct {
	Version   string `json:"version"`
	Rate      string `json:"rate,omitempty"`  // as --rate takes it
	Layer     string `json:"layer,omitempty"` // which bits it counts
	Payload   int    `json:"payload,omitempty"`
	IMIX      string `json:"imix,omitempty"` // in place of Payload
	Duration  int64  `json:"duration_ns,omitempty"`
	Count     uint64 `json:"count,omitempty"` // packets
	Bytes     int64  `json:"bytes,omitempty"` // of payload
	Path      string `json:"path,omitempty"`  // by which the server sends
	RX        string `json:"rx,omitempty"`    // by which it counts
	NoGSO     bool   `json:"no_gso,omitempty"`
	Burst     int    `json:"burst,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
	Verify    bool   `json:"verify,omitempty"`
	TTL       int    `json:"ttl,omitempty"`
	Pace      uint64 `json:"pace,omitempty"` // bytes per second of each TCP stream
	Interval  int64  `json:"interval_ns,omitempty"`
	Bounce    int    `json:"bounce,omitempty"`    // bytes of requests to answer
	Load      bool   `json:"load,omitempty"`      // they come beside a load, not in place of one
	Histogram bool   `json:"histogram,omitempty"` // wants that of delay
	Reflect   []byte `json:"reflect,omitempty"`   // asks for a reflector of probes that carry this token
}

// Check returns None, or the code to refuse an Ask with: a number is outside the
// bounds of linerate's options. Whether the host can do what is asked is not
// looked at.
func (a *Ask) Check() Code {
	for _, bound := range []struct {
		value, least, most int64
		code               Code
	}{
		{a.Duration, 0, int64(24 * time.Hour), BadDuration},
		{a.Bytes, 0, 1<<63 - 1, BadEnd},
		{int64(a.Payload), 0, MaxBlockUDP, BadBlockUDP},
		{int64(a.Burst), 0, 1024, BadBurst},
		{int64(a.TTL), 0, 255, BadParams},
		{a.Interval, 0, int64(24 * time.Hour), BadParams},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			return bound.code
		}
	}
	if a.Interval > 0 && a.Interval < int64(time.Millisecond) {
		return BadParams
	}
	return None
}

// A Greeting is the server's answer to an Ask: it follows the state Extra before
// CreateStreams.
type Greeting struct {
	Version  string         `json:"version"`
	Send     *result.Config `json:"send,omitempty"`    // how the server will send
	Receive  *result.Config `json:"receive,omitempty"` // how it will count
	Warnings []string       `json:"warnings,omitempty"`
	// Reflector is the port that probes for round trips come back from, or that answers
	// requests; absent if neither was asked for.
	Reflector int `json:"reflector_port,omitempty"`
}

// News is what either end tells while a test runs, each behind the state Extra.
// Without an interval it says that the end is still there.
type News struct {
	Interval *result.Interval `json:"interval,omitempty"`
	Bounces  *result.Bounces  `json:"bounces,omitempty"` // of a client that is done with them
}

// A Finding is what an end measured, in Results.Extra. Forward is what the client
// sent, Reverse what the server did; each end knows its own part.
type Finding struct {
	Forward  *result.Direction `json:"forward,omitempty"`
	Reverse  *result.Direction `json:"reverse,omitempty"`
	Hosts    []result.Host     `json:"hosts,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	// Intervals are those that no News told of: they ended with the test.
	Intervals []result.Interval `json:"intervals,omitempty"`
	Error     string            `json:"error,omitempty"`
}
