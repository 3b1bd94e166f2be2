package plan

import (
	"linerate/internal/pcap"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A traffic knows how many bytes at each layer the frames of a list take.
type traffic struct {
	before []atLayers // of each frame: what those before it take
	cycle  atLayers   // all of the list
}

// atLayers are bytes by layer, from L1.
type atLayers [4]uint64

func newTraffic(frames [][]byte) traffic {
	t := traffic{before: make([]atLayers, len(frames))}
	for i, f := range frames {
		t.before[i] = t.cycle
		for layer, n := range layersOf(f) {
			t.cycle[layer] += n
		}
	}
	return t
}

// layersOf is what one frame takes. The FCS and the padding to the smallest frame
// are the interface's; above Ethernet only IP counts, above IP only UDP and TCP.
func layersOf(f []byte) atLayers {
	l2 := max(len(f)+units.FCSBytes, units.MinFrameBytes)
	packet, payload := pcap.Sizes(f)
	return atLayers{uint64(l2 + units.WireBytes), uint64(l2), uint64(packet), uint64(payload)}
}

// upTo is what the first k frames take, over all rounds.
func (t *traffic) upTo(k uint64) atLayers {
	n := uint64(len(t.before))
	total := t.before[k%n]
	for layer, bytes := range t.cycle {
		total[layer] += k / n * bytes
	}
	return total
}

// costs is what each frame takes of a rate: bits at its layer, or one packet.
func (t *traffic) costs(o offer) []uint64 {
	costs := make([]uint64, len(t.before))
	for i := range costs {
		costs[i] = 1
		if o.rate.Unit == units.Bits {
			here, next := t.upTo(uint64(i)), t.upTo(uint64(i)+1)
			costs[i] = 8 * (next[o.layer-units.L1] - here[o.layer-units.L1])
		}
	}
	return costs
}

// Bytes is how many bytes of UDP and TCP payload the frames from one number up to
// another carry, and what rate they are in so many seconds; nil if those are 0.
func (p *Replay) Bytes(from, to uint64, seconds float64) (payload uint64, rate *result.Rate) {
	a, b := p.traffic.upTo(from), p.traffic.upTo(to)
	payload = b[3] - a[3]
	if seconds <= 0 || to == from {
		return payload, nil
	}
	bps := func(layer int) float64 { return float64(8*(b[layer]-a[layer])) / seconds }
	return payload, &result.Rate{
		PPS: float64(to-from) / seconds, L1Bps: bps(0), L2Bps: bps(1), L3Bps: bps(2), L4Bps: bps(3),
	}
}
