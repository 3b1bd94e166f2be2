package bench

import (
	"context"
	"fmt"
	"time"

	"linerate/bench/search"
	"linerate/internal/plan"
	"linerate/internal/pmtu"
	"linerate/internal/result"
)

// A Prober tries which sizes reach the peer: pmtu.Echo and pmtu.Reflections are.
type Prober interface {
	Send(context.Context, pmtu.Probe) (pmtu.Answer, error)
	PathMTU() (int, error)
}

// An MTU says whose path to measure.
type MTU struct {
	Prober Prober // whose answers are as large as its probes
	// Reflections are of a receiver at the peer: their answers are small, so that they
	// tell of the way there alone. Nil for none.
	Reflections Prober
	Peer        string // its address
	Iface       string
	IPv6        bool
	Local       int // MTU of the interface
	Version     string
	Progress    func(line string)
}

const (
	// A size that nothing answers is tried so often: of packets of which 5 % are
	// lost each way, all of them are lost once in a million.
	triesMost = 6
	// firstPatience is how long the peer may take to answer at all, and
	// leastPatience any later probe, which gets patienceRTTs of the first's time.
	firstPatience = 2 * time.Second
	leastPatience = 150 * time.Millisecond
	patienceRTTs  = 4
)

// ladder is a search at work.
type ladder struct {
	*MTU
	patience time.Duration
	row      *result.MTU
}

// Measure finds the largest IP packet that arrives whole each way. What is known
// when an error ends it comes back with it.
func (c *MTU) Measure(ctx context.Context) (*result.Report, error) {
	rep := newReport("mtu", c.Version, 0)
	rep.Config = &result.Config{Protocol: "icmp", Peer: "none", Direction: "bidir", Interface: c.Iface, Destination: c.Peer}
	if c.Reflections != nil {
		rep.Config.Protocol, rep.Config.Peer = "udp", "linerate"
	}
	row := &result.MTU{Peer: c.Peer, Local: c.Local}
	l := &ladder{MTU: c, patience: firstPatience, row: row}
	err := l.climb(ctx)
	if path, errPath := c.Prober.PathMTU(); errPath == nil {
		row.Path = path
	}
	rep.Results = []result.Row{{Config: *rep.Config, Trials: []result.Trial{}, MTU: row}}
	if err != nil {
		return broken(ctx, rep, err)
	}
	return rep, nil
}

func (l *ladder) climb(ctx context.Context) error {
	least := pmtu.Probe{Size: pmtu.Least(l.IPv6), Whole: true}
	there := l.Prober
	if l.Reflections != nil {
		there = l.Reflections
	}
	first, err := l.try(ctx, there, least)
	switch {
	case err != nil:
		return err
	case !first.Arrived && l.Reflections != nil:
		return &plan.PeerError{Err: fmt.Errorf("%s sends no probes back: run linerate recv %s --reflect there", l.Peer, l.Peer)}
	case !first.Arrived:
		return &plan.PeerError{Err: fmt.Errorf("%s does not answer ICMP echo of %d bytes", l.Peer, least.Size)}
	}
	l.patience = max(leastPatience, patienceRTTs*first.RTT)
	if err := l.forward(ctx, there, least.Size); err != nil {
		return err
	}
	if l.Reflections != nil { // they know nothing of the way back, and echo may be shut off
		if a, err := l.try(ctx, l.Prober, least); err != nil || !a.Arrived {
			return err
		}
	}
	return l.reverse(ctx, least.Size)
}

// forward finds the largest request that arrives. Its answer may come in fragments.
func (l *ladder) forward(ctx context.Context, by Prober, least int) error {
	s := search.Ladder{Passed: least, Failed: l.Local + 2, Hint: l.Local} // one more, to see it refused
	for {
		size, ok := s.Next()
		if !ok {
			break
		}
		a, err := l.try(ctx, by, pmtu.Probe{Size: size, Whole: true})
		if err != nil {
			return err
		}
		hint := 0
		if !a.Arrived {
			hint = l.refused(size, &s, a.Refusal)
		}
		s.Note(size, a.Arrived, hint)
		l.row.Forward = &s.Passed
	}
	l.row.Forward = &s.Passed
	return nil
}

// refused notes what stopped a size that is the smallest so far, and what was said
// to fit.
func (l *ladder) refused(size int, s *search.Ladder, r *pmtu.Refusal) (hint int) {
	if r != nil {
		hint = r.MTU
	}
	if size >= s.Failed {
		return hint
	}
	switch {
	case r == nil:
		l.row.RefusedBy, l.row.RefusedFrom = "silence", ""
	case r.From.IsValid():
		l.row.RefusedBy, l.row.RefusedFrom = "router", r.From.String()
	default:
		l.row.RefusedBy, l.row.RefusedFrom = "here", ""
	}
	return hint
}

// reverse finds the largest answer that comes whole. What is too large for the way
// there leaves in fragments, so that it is no limit. Over IPv4 routers make them;
// where one drops in silence instead, nothing is known of the way back beyond.
func (l *ladder) reverse(ctx context.Context, least int) error {
	s := search.Ladder{Passed: least, Failed: l.Local + 1, Hint: *l.row.Forward}
	for {
		size, ok := s.Next()
		if !ok {
			break
		}
		a, err := l.try(ctx, l.Prober, pmtu.Probe{Size: size, Whole: size <= *l.row.Forward, Fragment: *l.row.Forward})
		if err != nil {
			return err
		}
		whole := a.Arrived && a.Fragment == 0
		if !whole && size < s.Failed {
			l.row.ReverseRefusedBy = "silence"
			if a.Arrived {
				l.row.ReverseRefusedBy = "fragments"
			}
		}
		s.Note(size, whole, a.Fragment)
	}
	l.row.Reverse = &s.Passed
	// Beyond the way there, silence says nothing of the way back.
	if s.Passed >= *l.row.Forward && l.row.ReverseRefusedBy != "fragments" {
		l.row.ReverseAtLeast, l.row.ReverseRefusedBy = true, ""
	}
	return nil
}

// try sends a probe until it is answered or refused. A refusal by a router that is
// not of this size, or the silence of a single probe, decides nothing.
func (l *ladder) try(ctx context.Context, by Prober, p pmtu.Probe) (pmtu.Answer, error) {
	p.Patience = l.patience
	for tries := 0; ; tries++ {
		l.Progress(fmt.Sprintf("IP packets of %d bytes, try %d", p.Size, tries+1))
		a, err := by.Send(ctx, p)
		l.row.Probes++
		if err != nil {
			return a, err
		}
		late := a.Refusal != nil && a.Refusal.MTU >= p.Size // of an earlier probe
		if a.Fragment > 0 {
			l.row.Fragmented = true
		}
		if a.Arrived {
			l.row.Unanswered += tries
			return a, nil
		}
		if a.Refusal != nil && !late || tries+1 == triesMost {
			return a, nil
		}
	}
}
