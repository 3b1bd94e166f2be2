package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"linerate/internal/iperf2"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/units"
)

// The protocols of test --peer: linerate serve speaks both.
const (
	peerIPerf3 = "iperf3"
	peerIPerf2 = "iperf2"
)

// parsePeer parses the name of a protocol.
func parsePeer(s string) (string, error) {
	if s != peerIPerf3 && s != peerIPerf2 {
		return "", fmt.Errorf("want %s or %s", peerIPerf3, peerIPerf2)
	}
	return s, nil
}

// notOfIPerf2 are the flags of test that iperf 2 has nothing for, with the reason.
var notOfIPerf2 = []struct{ flag, why string }{
	{"omit", "its server counts from the first packet on"},
	{"imix", "its server tells bytes and packets of one size"},
	{"isochronous", "its server wants a header of its own in each datagram of a burst"},
	{"verify", "its server checks no payload"},
	{"rtt", "its server sends no probes back"},
	{"connect-only", "it needs no --peer: any listener will do"},
	{"histogram", "its server tells of no distribution"},
	{"rx", "its server counts by its own sockets, and so does this end"},
	{"control-bind", "it has no control connection"},
	{"get-server-output", "it has no control connection"},
	{"username", "it knows no users"},
	{"rsa-public-key-path", "it knows no users"},
	{"use-pkcs1-padding", "it knows no users"},
}

// checkIPerf2 refuses what a test against iperf 2 can't do.
func checkIPerf2(cmd *cobra.Command, r *plan.TestRequest) error {
	f := cmd.Flags()
	refuse := func(flag, why string) error {
		return &plan.UsageError{Flag: flag, Msg: "is not for --peer iperf2: " + why}
	}
	for _, no := range notOfIPerf2 {
		if f.Changed(no.flag) {
			return refuse(no.flag, no.why)
		}
	}
	if !r.TCP {
		if err := onlyTCP(cmd, "mss", "congestion", "pace"); err != nil {
			return err
		}
	}
	serverSends := r.Reverse || r.Bidir
	switch {
	case r.Reverse && r.Bidir:
		return &plan.UsageError{Flag: "reverse", Msg: "contradicts --bidir, in which both ends send: give one of them"}
	case r.Bounce > 0 && !r.TCP:
		return refuse("bounce", "its server answers requests over TCP alone, as with --tcp")
	case r.Loaded:
		return refuse("bounce", "beside a load its server answers none")
	case r.Bounce > 0 && (r.Bounce < iperf2.BounceBackSize || r.Bounce > iperf2.StockBounceBack):
		return &plan.UsageError{Flag: "bounce", Msg: fmt.Sprintf("its server answers requests of %d to %d bytes", iperf2.BounceBackSize, iperf2.StockBounceBack)}
	case !r.TCP && f.Changed("connect-timeout"):
		return refuse("connect-timeout", "its UDP has no connection")
	case r.Reverse && f.Changed("path"):
		return refuse("path", "with --reverse its server sends, by its own sockets")
	case serverSends && !r.TCP && r.Rate.Unit == units.Max:
		return refuse("rate", "its server wants to be told a rate, as 500M")
	case serverSends && r.Bytes/int64(r.Flows) > math.MaxInt32:
		return refuse("bytes", "its server can be asked for 2 GiB of a flow at most")
	}
	return nil
}

// iperf2Payload is what the datagrams carry if nothing is asked for: what a stock
// server reads of one, over IPv4 and IPv6.
const iperf2Payload = iperfDatagram6

// runTestIPerf2 runs a test against a stock iperf -s.
func runTestIPerf2(cmd *cobra.Command, r plan.TestRequest, o testOptions, out *output) error {
	if err := checkIPerf2(cmd, &r); err != nil {
		return err
	}
	var err error
	if r.Pattern, err = probe.ParsePattern(r.PatternName); err != nil {
		return &plan.UsageError{Flag: "pattern", Msg: err.Error()}
	}
	if !cmd.Flags().Changed("port") {
		r.Port = iperf2.Port
	}
	mode := iperf2.Forward
	switch {
	case r.Reverse:
		mode = iperf2.Reverse
	case r.Bidir:
		mode = iperf2.FullDuplex
	}
	if r.Bounce > 0 {
		return runBounceIPerf2(cmd.Context(), r, o, out)
	}
	options := session.IPerf2Options{Version: version(), Interval: o.interval, Window: r.Window}
	out.begin()
	seen := &iperf2Seen{output: out}
	ctx := cmd.Context()
	if r.TCP {
		var p *plan.StreamPlan
		if p, err = plan.ResolveStreams(ctx, r); err != nil {
			return err
		}
		options.IfIndex = p.IfIndex
		err = session.IPerf2TCP(ctx, session.IPerf2TCPRequest{
			IPerf2Options: options, Local: p.Local, Peer: p.Remote, Socket: p.Options, Patience: p.Patience, Pattern: p.Pattern,
			Settings: iperf2.Settings{
				Mode: mode, Flows: p.Streams, Size: p.BlockLen, Rate: p.Rate, TOS: r.TOS,
				Bytes: p.Bytes / uint64(p.Streams), Duration: p.Duration,
			},
		}, seen)
	} else {
		if r.Payload == 0 && r.Frame == 0 {
			r.Payload = iperf2Payload
		}
		err = session.IPerf2(ctx, session.IPerf2Request{IPerf2Options: options, Send: r.SendRequest, Mode: mode}, seen)
	}
	return concludeTest(ctx, out, seen.report, err, o.fail, true)
}

// runBounceIPerf2 times requests to a stock iperf -s and its answers.
func runBounceIPerf2(ctx context.Context, r plan.TestRequest, o testOptions, out *output) error {
	p, err := plan.ResolveTest(ctx, r)
	if err != nil {
		return err
	}
	out.begin()
	rep, err := session.IPerf2Bounce(ctx, p, version(), out)
	if rep == nil {
		return err
	}
	return concludeTest(ctx, out, rep, err, o.fail, true)
}

// iperf2Seen shows a test as output does, and keeps its report.
type iperf2Seen struct {
	*output
	report *result.Report
}

// Ended implements session.ServerObserver.
func (o *iperf2Seen) Ended(r *result.Report) { o.report = r }
