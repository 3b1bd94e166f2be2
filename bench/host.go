package bench

import (
	"context"

	"linerate/internal/host"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/session"
)

// A Peer is a host that runs linerate serve, and how trials reach it.
type Peer struct {
	Host        string // HOST or HOST:PORT
	Port        int    // where Host names none
	V4, V6      bool
	Bind, Iface string
	Path, RX    string
	NoGSO       bool
	Realtime    bool // the sending threads run before all ordinary ones
	Version     string
}

// A Way is what is known of the way to a peer.
type Way struct {
	IPv6     bool
	SpeedBps uint64 // of the interface it leaves by; 0 if unknown
}

// tripsPerSecond are the round trips of a trial that measures them: too few to be a
// load.
const tripsPerSecond = 100

// request is what a trial asks of a coordinated test.
func (p *Peer) request(o Offer) plan.TestRequest {
	r := plan.TestRequest{
		SendRequest: plan.SendRequest{
			Host: p.Host, Port: p.Port, V4: p.V4, V6: p.V6, Bind: p.Bind, Iface: p.Iface, Path: p.Path, NoGSO: p.NoGSO, Realtime: p.Realtime,
			Rate: o.Rate, Frame: o.Frame, Duration: o.Duration, Count: o.Count, Flows: 1, Window: 4 << 20, Pattern: ramp,
		},
		RX: p.RX, PatternName: "ramp",
	}
	if o.Trips {
		r.RTT = tripsPerSecond
	}
	return r
}

// Way finds the way to the peer by planning a trial: what can't run is refused
// before the first packet.
func (p *Peer) Way(ctx context.Context, o Offer) (Way, error) {
	t, err := plan.ResolveTest(ctx, p.request(o))
	if err != nil {
		return Way{}, err
	}
	w := Way{IPv6: t.Peer.Addr().Is6()}
	if link, err := host.LinkByIndex(t.IfIndex); err == nil {
		w.SpeedBps = link.SpeedBps
	}
	return w, nil
}

// Run runs one trial as a coordinated test.
func (p *Peer) Run(ctx context.Context, o Offer) (*result.Report, error) {
	t, err := plan.ResolveTest(ctx, p.request(o))
	if err != nil {
		return nil, err
	}
	rep, err := session.Test(ctx, t, p.Version, quiet{})
	if err == nil {
		err = ctx.Err() // a test that was stopped is no trial
	}
	if err != nil {
		return nil, err
	}
	return rep, nil
}
