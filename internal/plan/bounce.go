package plan

import (
	"fmt"

	"linerate/internal/echo"
	"linerate/internal/host"
	"linerate/internal/iperf3"
	"linerate/internal/result"
)

// checkBounce refuses what a test of requests and answers has no use for.
func (r *TestRequest) checkBounce() error {
	for flag, set := range map[string]bool{
		"reverse": r.Reverse, "bidir": r.Bidir, "rtt": r.RTT > 0, "bytes": r.Bytes != 0, "omit": r.Omit != 0,
		"flows": r.Flows > 1, "verify": r.Verify, "payload": r.BlockLen != 0 || r.Payload != 0, "frame": r.Frame != 0,
		"imix": len(r.IMIX.Frames) != 0, "path": r.Path != "" && r.Path != auto, "rx": r.RX != "" && r.RX != auto,
	} {
		if set {
			return &UsageError{flag, "has no use with --bounce, which sends one request at a time"}
		}
	}
	return CheckBounce(r.TCP, r.Bounce)
}

// CheckBounce refuses sizes that a request can't have.
func CheckBounce(overTCP bool, size int) error {
	least, most := echo.LeastBounce, iperf3.MaxBlockUDP
	if overTCP {
		least, most = 1, iperf3.MaxBlockTCP
	}
	if size < least || size > most {
		return &UsageError{"bounce", fmt.Sprintf("want %d to %d bytes (over TCP 1 to %d)", echo.LeastBounce, iperf3.MaxBlockUDP, iperf3.MaxBlockTCP)}
	}
	return nil
}

// describeBounce says in iperf3's words, and in ours, what a test of requests and
// answers is to be.
func (t *Test) describeBounce(route *host.Route) {
	r := &t.Request
	t.params()
	p := &t.Params
	p.TCP, p.UDP, p.NoDelay, p.Len, p.BlockCount = r.TCP, !r.TCP, r.TCP, r.Bounce, int64(r.Count)
	t.Report = result.Config{
		Protocol: "udp", Direction: "forward", Interface: route.Link.Name, Source: route.Source.String(), Destination: t.Peer.String(),
		PayloadBytes: r.Bounce, DurationS: t.Duration().Seconds(), Count: r.Count, TOS: int(r.TOS),
	}
	if r.TCP {
		t.Report.Protocol = "tcp"
	}
}
