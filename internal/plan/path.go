package plan

import (
	"fmt"
	"strings"

	"linerate/gen"
	"linerate/internal/host"
)

// auto asks for the fastest path that can run.
const auto = "auto"

// choosePath finds the path that was named, or for auto the first of the table
// that can run. The reason says of auto which faster ones were passed over, and
// why.
func (s *Send) choosePath(r *SendRequest, o offer, route *host.Route) (reason string, err error) {
	if r.Path != auto && r.Path != "" {
		s.Path, err = gen.Find(r.Path)
		if err != nil {
			return "", &UsageError{"path", err.Error()}
		}
		if err := r.unfit(s.Path, route); err != nil {
			return "", err
		}
		if err := s.Path.Try(&s.Config); err != nil {
			return "", &HostError{err}
		}
		s.Config.ZeroCopy = true // what was asked for by name may trouble the device
		return "", nil
	}
	var passed passedOver
	for i := range gen.Paths {
		p := &gen.Paths[i]
		err := r.unfit(p, route)
		if err == nil {
			err = s.unasked(p, r, o)
		}
		if err == nil {
			err = p.Try(&s.Config)
		}
		if err == nil {
			s.Path = p
			break
		}
		passed.add(p.Name, err)
	}
	switch {
	case s.Path == nil:
		return "", &HostError{fmt.Errorf("no transmit path can do this here: %v", passed)}
	case len(passed) == 0:
		return s.Path.Name + " is the fastest", nil
	}
	return fmt.Sprintf("%s is the fastest that can run here; passed over: %v", s.Path.Name, passed), nil
}

// unasked says why auto leaves a path alone that could do it: one whose calls are
// dear sends the packets of a rate in longer bursts than others need to, and some
// go past a queueing discipline that was put there to hold them.
func (s *Send) unasked(p *gen.Path, r *SendRequest, o offer) error {
	switch {
	case p.Bulk != 0 && (o.pps != 0 || r.Burst != 0):
		return fmt.Errorf("path %s: for --rate max without --burst: it sends in long bursts", p.Name)
	case p.Unqueued && !s.Config.Bypass:
		return fmt.Errorf("path %s: goes past the queueing discipline of %s", p.Name, s.Config.Interface)
	}
	return nil
}

// passedOver are the paths that can't run, in order, those with the same reason
// together.
type passedOver []struct{ names, why string }

func (p *passedOver) add(name string, err error) {
	why := strings.TrimPrefix(err.Error(), "path "+name+": ")
	if n := len(*p); n > 0 && (*p)[n-1].why == why {
		(*p)[n-1].names += ", " + name
		return
	}
	*p = append(*p, struct{ names, why string }{name, why})
}

func (p passedOver) String() string {
	reasons := make([]string, len(p))
	for i, r := range p {
		reasons[i] = r.names + " (" + r.why + ")"
	}
	return strings.Join(reasons, "; ")
}

// unfit says why a path can't send what was asked for, whatever the kernel has.
func (r *SendRequest) unfit(p *gen.Path, route *host.Route) error {
	if r.Fragment && p.Name != "udp" {
		return &UsageError{"payload", fmt.Sprintf("%d leaves in fragments, which path %s does not make: --path udp does", r.Payload, p.Name)}
	}
	if p.Name == "gso" && r.NoGSO {
		return &UsageError{"no-gso", "contradicts path gso, which is udp with super-frames"}
	}
	if p.Family == gen.Kernel {
		for _, f := range []struct {
			name string
			set  bool
		}{{"vlan", r.VLAN != nil}, {"src-mac", r.SrcMAC != nil}, {"dst-mac", r.DstMAC != nil}} {
			if f.set {
				return &UsageError{f.name, fmt.Sprintf("needs a raw path: the kernel writes the headers of path %s", p.Name)}
			}
		}
		return r.ownSources()
	}
	switch {
	case route.Local:
		return &HostError{fmt.Errorf("path %s: raw frames to this host itself never arrive: --path udp does", p.Name)}
	case !route.Link.Ethernet:
		return &HostError{fmt.Errorf("path %s: %s carries no Ethernet frames: --path udp needs none", p.Name, route.Link.Name)}
	}
	return nil
}
