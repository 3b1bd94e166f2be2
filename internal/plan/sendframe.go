package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"linerate/gen"
	"linerate/gen/frame"
	"linerate/internal/host"
	"linerate/internal/linux"
	"linerate/internal/probe"
)

// TTLs where none was asked for: the kernel's, and for a group its own link's
// (RFC 1112 section 6.1).
const (
	defaultTTL   = 64
	multicastTTL = 1
)

// headers settles what stands before the payload. The kernel's paths leave to
// it what was not asked for; for the raw ones the neighbour may have to be
// resolved first.
func (s *Send) headers(ctx context.Context, r *SendRequest, to *destination) (frame.Headers, error) {
	h := frame.Headers{
		VLAN: r.VLAN, Src: r.from(to.from), Dst: to.addr, DstPort: to.port, TOS: r.TOS, TTL: uint8(r.TTL),
		SrcMAC: r.SrcMAC, DstMAC: r.DstMAC, SrcPort: r.SrcPort, SrcPorts: r.SrcPorts, DstPorts: r.DstPorts,
		Srcs: r.Srcs.N, Dsts: r.Dsts.N,
	}
	if r.TTL == 0 {
		h.TTL = defaultTTL
		if to.addr.IsMulticast() {
			h.TTL = multicastTTL
		}
	}
	if s.Path.Family == gen.Kernel {
		// Asked for now, so that no packet waits for the answer or is reordered by it.
		if to.route.Link.Ethernet && !to.route.Local {
			_, err := nextHop(ctx, to.addr, to.route)
			if err != nil && !errors.Is(err, errors.ErrUnsupported) { // then the kernel asks by itself
				return h, err
			}
		}
		return h, nil
	}
	h.Src = r.from(to.route.Source)
	if h.SrcMAC == nil {
		h.SrcMAC = to.route.Link.MAC
	}
	var err error
	if r.SrcPort == 0 {
		if h.SrcPort, err = FreePorts(s.Schedule.Flows); err != nil {
			return h, err
		}
	}
	if h.DstMAC == nil {
		h.DstMAC, err = nextHop(ctx, to.addr, to.route)
	}
	if errors.Is(err, host.ErrNoNeighbour) {
		err = &PeerError{fmt.Errorf("%w or give --dst-mac", err)}
	}
	return h, err
}

// FreePorts is the first of so many source ports in a row, at random out of
// those that Linux gives to sockets by itself (ip_local_port_range), or out of
// all if that range is too small.
func FreePorts(flows int) (uint16, error) {
	const lowest, highest = 32768, 60999
	switch {
	case flows > 65535:
		return 0, &UsageError{"flows", "a raw path has a source port from 1 to 65535 for each: at most 65535"}
	case flows > highest-lowest+1:
		return uint16(1 + rand.N(65536-flows)), nil
	}
	return uint16(lowest + rand.N(highest-lowest+2-flows)), nil
}

// build makes the frame of the test.
func (s *Send) build(r *SendRequest, h frame.Headers) error {
	sizes := slices.Clone(s.Schedule.Sizes)
	slices.Sort(sizes)
	stamper := probe.Stamper{
		Format:     r.Format,
		Run:        uint16(1 + rand.N(65535)),
		WallOffset: linux.WallOffset(),
	}
	flows := s.Schedule.Flows
	if r.Warmup {
		flows *= 2
	}
	t, err := frame.New(h, stamper, slices.Compact(sizes), flows, r.Pattern)
	if err != nil {
		return &UsageError{"", err.Error()}
	}
	s.Config.Template = t
	s.Config.Batch = max(s.Schedule.Burst, s.Schedule.Most)
	return nil
}
