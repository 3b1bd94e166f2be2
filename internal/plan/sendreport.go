package plan

import (
	"net/netip"

	"linerate/gen"
	"linerate/internal/result"
	"linerate/internal/units"
)

// report is what the report says of the plan.
func (s *Send) report(r *SendRequest, to *destination, o offer) result.Config {
	c := result.Config{
		Protocol:    "udp",
		Path:        s.Path.Name,
		Peer:        "none",
		Direction:   "forward",
		Format:      r.Format.String(),
		Interface:   to.route.Link.Name,
		Source:      r.from(to.route.Source).String(),
		TOS:         int(r.TOS),
		Destination: netip.AddrPortFrom(to.addr, to.port).String(),
		Rate:        r.Rate.String(),
		RatePps:     o.pps,
		Layer:       o.layer.String(),
		IMIX:        r.IMIX.Name,
		Flows:       s.Schedule.Flows,
		Burst:       s.Schedule.Burst,
		Threads:     s.Workers,
		CPUs:        r.CPUs,
		Realtime:    r.Realtime,
		DurationS:   s.Schedule.Duration.Seconds(),
		Count:       s.Schedule.Count,
		Isochronous: r.Isochronous.report(),
	}
	r.reportRanges(&c)
	for _, rate := range s.Schedule.Profile {
		c.Profile = append(c.Profile, result.RateAt{FromS: rate.From.Seconds(), Rate: profileRate(o, rate.Micro)})
	}
	switch {
	case c.Profile != nil || c.Isochronous != nil:
		c.Rate, c.RatePps = "", 0
		if c.Isochronous != nil {
			c.Burst = 0
		}
	case o.rate.Unit == units.Bits:
		c.RateBps = float64(o.rate.Micro) / units.MicrosPerUnit
	}
	if len(r.IMIX.Frames) == 0 {
		c.PayloadBytes = s.Schedule.Sizes[0]
		if !s.Config.Fragment {
			c.FrameBytes = s.Stack.FrameBytes(c.PayloadBytes)
		}
	}
	if s.Path.Queue {
		c.Queue = &s.Config.Queue
	}
	if to.route.Gateway.IsValid() {
		c.Gateway = to.route.Gateway.String()
	}
	if h := &s.Config.Template.Headers; s.Path.Family == gen.Raw {
		c.SourceMAC, c.NextHopMAC = h.SrcMAC.String(), h.DstMAC.String()
		if h.VLAN != nil {
			id := int(*h.VLAN)
			c.VLAN = &id
		}
	}
	return c
}

// profileRate is a rate of a profile as --rate takes it.
func profileRate(o offer, micro uint64) string {
	if micro == 0 {
		return "0"
	}
	return units.Rate{Unit: o.rate.Unit, Micro: micro}.String()
}
