package plan

import (
	"linerate/internal/host"
	"linerate/internal/result"
)

// defaultConnects is how many handshakes are timed unless a count says otherwise.
const defaultConnects = 100

// checkConnects refuses what a test of handshakes alone has no use for.
func (r *TestRequest) checkConnects() error {
	if !r.TCP {
		return &UsageError{"connect-only", "is for --tcp"}
	}
	for flag, set := range map[string]bool{
		"reverse": r.Reverse, "bidir": r.Bidir, "rtt": r.RTT > 0, "bytes": r.Bytes != 0, "duration": r.Duration != 0,
		"omit": r.Omit != 0, "flows": r.Flows > 1, "verify": r.Verify, "payload": r.BlockLen != 0,
	} {
		if set {
			return &UsageError{flag, "has no use with --connect-only, which sends no data"}
		}
	}
	return nil
}

// describeConnects says what a test of handshakes is to be.
func (t *Test) describeConnects(route *host.Route) {
	if t.Request.Count == 0 {
		t.Request.Count = defaultConnects
	}
	t.Report = result.Config{
		Protocol: "tcp", Peer: "none", Direction: "forward", Interface: route.Link.Name,
		Source: route.Source.String(), Destination: t.Peer.String(), Count: t.Request.Count, TOS: int(t.Request.TOS),
	}
}
