package bench

import (
	"context"

	"linerate/gen"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/units"
)

// A site is where a comparison runs its trials.
type site interface {
	// try says why a path can't send frames of a size there.
	try(ctx context.Context, p *gen.Path, frame int) error
	// run runs a cell once.
	run(ctx context.Context, x *cell) (run, error)
}

// labSite is a lab: it sends from a and counts at b.
type labSite struct {
	*Comparison
	lab *lab.Lab
}

func (s labSite) try(_ context.Context, p *gen.Path, frame int) error {
	return s.lab.A().Do(func() error {
		link, err := host.LinkByName(s.lab.A().Interface)
		if err != nil {
			return err
		}
		return p.Try(&gen.Config{Interface: link.Name, IfIndex: link.Index, Frame: frame})
	})
}

func (s labSite) run(ctx context.Context, x *cell) (run, error) {
	return labTrial(ctx, s.lab, s.V6, s.RX, s.Version, plan.SendRequest{
		Rate: s.Rate, Layer: s.Layer, Frame: x.frame, Duration: s.Trial, Path: x.path.Name, NoGSO: s.NoGSO,
	})
}

// peerSite is the way to a host that runs linerate serve.
type peerSite struct{ *Comparison }

// offer is what a trial asks for.
func (s peerSite) offer(path string, frame int) (*Peer, Offer) {
	rate := s.Rate
	if rate.Layer == 0 {
		rate.Layer = s.Layer
	}
	p := &Peer{
		Host: s.Host, Port: s.Port, V4: s.V4, V6: s.V6, Iface: s.Iface, Bind: s.Bind,
		Path: path, RX: s.RX, NoGSO: s.NoGSO, Version: s.Version,
	}
	return p, Offer{Rate: rate, Frame: frame, Duration: s.Trial}
}

// reach says why no path leads to the host: what the ordinary one can't reach at any
// size, none can.
func (s peerSite) reach(ctx context.Context) error {
	peer, o := s.offer("udp", 0)
	o.Rate = units.Rate{Unit: units.Max}
	_, err := peer.Way(ctx, o)
	return err
}

func (s peerSite) try(ctx context.Context, p *gen.Path, frame int) error {
	peer, o := s.offer(p.Name, frame)
	_, err := peer.Way(ctx, o)
	return err
}

func (s peerSite) run(ctx context.Context, x *cell) (run, error) {
	peer, o := s.offer(x.path.Name, x.frame)
	rep, err := peer.Run(ctx, o)
	return run{sent: rep, counted: rep}, err
}
