package plan

import (
	"fmt"
	"time"

	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/units"
)

// defaultDuration is how long a test lasts that was given no end.
const defaultDuration = 10 * time.Second

// burstMost is the most packets of one burst: more gain nothing, and leave
// longer gaps.
const burstMost = 64

// smoothMost is the rate up to which packets leave one at a time unless asked
// otherwise: a call for each is affordable there.
const smoothMost = 100_000 // packets a second

// An offer is a rate that was asked for, made definite.
type offer struct {
	rate  units.Rate  // Bits, Packets or Max
	layer units.Layer // that the rate counts
	pps   float64     // on average; 0 for Max
}

// newOffer settles the layer of a rate (its own, else the given one, else L4)
// and what a percentage is of.
func newOffer(rate units.Rate, layer units.Layer, link *host.Link) (offer, error) {
	if rate.Unit == units.Percent {
		if layer != 0 && layer != units.L1 {
			return offer{}, &UsageError{"layer", fmt.Sprintf("%v contradicts --rate %v, which is of the link's speed at l1", layer, rate)}
		}
		if link.SpeedBps == 0 {
			return offer{}, &UsageError{"rate", fmt.Sprintf("%v needs a link of known speed, and that of %s is not known: write it in bits, as 9.5G@l1", rate, link.Name)}
		}
		var err error
		if rate, err = rate.OfLink(link.SpeedBps); err != nil {
			return offer{}, &UsageError{"rate", err.Error()}
		}
	}
	o := offer{rate: rate, layer: units.L4}
	switch {
	case rate.Layer != 0:
		o.layer = rate.Layer
	case layer != 0:
		o.layer = layer
	}
	return o, nil
}

// costs is what each packet of the cycle takes of the rate: bits at its layer,
// or one packet.
func (o offer) costs(stack units.Stack, sizes []int) []uint64 {
	costs := make([]uint64, len(sizes))
	for i, size := range sizes {
		costs[i] = 1
		if o.rate.Unit == units.Bits {
			costs[i] = uint64(8 * stack.BytesAt(o.layer, size))
		}
	}
	return costs
}

// newSchedule lays out the test: sizes is the cycle of payload sizes.
func newSchedule(r *SendRequest, o *offer, stack units.Stack, sizes []int) (pace.Schedule, error) {
	s := pace.Schedule{
		Sizes:     sizes,
		Costs:     o.costs(stack, sizes),
		MicroRate: o.rate.Micro,
		Flows:     max(r.Flows, 1),
		Count:     r.Count,
		Duration:  r.Duration,
	}
	if o.rate.Unit != units.Max {
		o.pps = float64(o.rate.Micro) / units.MicrosPerUnit * float64(len(sizes)) / float64(sum(s.Costs))
	}
	if r.Bytes != 0 {
		if r.Count != 0 {
			return s, &UsageError{"bytes", "contradicts --count: give one of them"}
		}
		s.Count = packetsOf(uint64(r.Bytes), sizes)
	}
	if s.Count == 0 && s.Duration == 0 {
		s.Duration = defaultDuration
	}
	s.Burst, s.Most = bursts(r, o.pps)
	if r.Smooth && s.Burst > 1 {
		return s, &UsageError{"smooth", "contradicts --burst: give one of them"}
	}
	return s, nil
}

// bursts is how many packets are planned back to back at a rate (0 for as fast as
// possible), and how many may leave so where that is what it takes to hold the rate.
func bursts(r *SendRequest, pps float64) (planned, most int) {
	switch {
	case r.Burst != 0:
		return r.Burst, r.Burst
	case r.Smooth || pps > 0 && pps <= smoothMost:
		return 1, 1
	case pps == 0:
		return burstMost, burstMost
	}
	return 1, burstMost
}

// packetsOf is how many packets of a cycle of sizes carry at least so many bytes.
func packetsOf(bytes uint64, sizes []int) uint64 {
	cycle := uint64(sum(sizes))
	n := bytes / cycle * uint64(len(sizes))
	left := int64(bytes % cycle)
	for _, size := range sizes {
		if left <= 0 {
			break
		}
		left -= int64(size)
		n++
	}
	return n
}

// aboveLine warns of a rate that the link can't carry, with the most that it can.
func (o offer) aboveLine(flag string, asked units.Rate, stack units.Stack, sizes []int, link *host.Link) string {
	if link.SpeedBps == 0 || o.pps == 0 {
		return ""
	}
	wire, counted := 0, 0
	for _, size := range sizes {
		wire += 8 * stack.BytesAt(units.L1, size)
		counted += 8 * stack.BytesAt(o.layer, size)
	}
	n := float64(len(sizes))
	most := float64(link.SpeedBps) / (float64(wire) / n) // packets per second
	if o.pps <= most {
		return ""
	}
	return fmt.Sprintf("--%s %v is more than %s carries at %s: at most %s at %v (%s)", flag, asked, link.Name,
		units.FormatBits(float64(link.SpeedBps)), units.FormatBits(most*float64(counted)/n), o.layer, units.FormatPackets(most))
}

func sum[T int | uint64](values []T) T {
	var total T
	for _, v := range values {
		total += v
	}
	return total
}

// tooLittle refuses a test in which nothing would leave.
func tooLittle(s *pace.Schedule, rate units.Rate) error {
	if s.Duration == 0 || s.MicroRate == 0 || s.Packets(s.Duration) > 0 {
		return nil
	}
	return &UsageError{"duration", fmt.Sprintf("%v is less than one packet of %d bytes of payload takes at %v: ask for a longer test, a higher rate or a smaller payload",
		s.Duration, s.Sizes[0], rate)}
}
