package plan

import (
	"context"
	"net/netip"
	"time"

	"linerate/internal/host"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/internal/units"
)

// A StreamPlan is the plan of TCP streams one way, without a peer that knows of
// the test.
type StreamPlan struct {
	Local, Remote netip.AddrPort // a sender's own end, and where it connects to; a receiver has no Remote
	IfIndex       int            // of the interface that the streams use; 0 if that is not known
	Options       tcp.Options
	Streams       int // that a sender opens, and a receiver waits for
	BlockLen      int // bytes
	Rate          uint64
	Bytes         uint64 // of all streams together; 0 for no limit
	Duration      time.Duration
	Pattern       probe.Pattern
	Verify        bool
	Patience      time.Duration // of connecting
	Report        result.Config
	Interval      time.Duration // between lines of the report, set by the caller; 0 for none
}

// ResolveStreams plans a sender of TCP streams. The errors are those of
// ResolveTest.
func ResolveStreams(ctx context.Context, r TestRequest) (*StreamPlan, error) {
	r.TCP = true
	t, err := ResolveTest(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &StreamPlan{
		Local: netip.AddrPortFrom(t.Source, 0), Remote: t.Peer, IfIndex: t.IfIndex, Options: t.SocketOptions(), Streams: t.Streams(),
		BlockLen: t.Params.Len, Rate: uint64(t.Params.Bandwidth), Bytes: uint64(r.Bytes), Duration: t.Duration(),
		Pattern: r.Pattern, Patience: t.Request.ConnectPatience, Report: t.Report,
	}
	p.Report.Peer = "none"
	return p, nil
}

// ResolveStreamReceiver plans a receiver of TCP streams. The errors are those of
// ResolveReceive.
func ResolveStreamReceiver(ctx context.Context, r RecvRequest, streams int) (*StreamPlan, error) {
	l, err := r.listener(ctx)
	if err != nil {
		return nil, err
	}
	p := &StreamPlan{
		Local: l.local, Options: tcp.Options{Window: r.Window}, Streams: streams, Duration: r.Duration,
		Pattern: r.Pattern, Verify: r.Verify,
		Report: result.Config{
			Protocol: "tcp", Peer: "none", Direction: "forward", Destination: l.local.String(), Layer: units.L4.String(),
			Flows: streams, DurationS: r.Duration.Seconds(), WindowAsked: r.Window,
		},
	}
	for _, link := range []*host.Link{l.named, l.holder} {
		if link != nil {
			p.IfIndex, p.Report.Interface = link.Index, link.Name
			break
		}
	}
	if l.named != nil {
		p.Options.Device = l.named.Name
	}
	return p, nil
}
