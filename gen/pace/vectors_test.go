package pace

import (
	"math"
	"testing"

	"linerate/internal/vectors"
)

func TestScheduleVectors(t *testing.T) {
	vectors.Run(t, "pacing", vectors.Checks{
		"schedule":         scheduleVector,
		"rate_from_stamps": rateVector,
		"inter_burst_gap":  burstVector,
	}, "pacing") // internal/cadence has these
}

func scheduleVector(t *testing.T, v vectors.Vector) {
	var in struct {
		RateBps       uint64   `json:"rate_bps"`
		BitsPerPacket uint64   `json:"bits_per_packet"`
		N             []uint64 `json:"n"`
	}
	var want struct {
		OffsetNS []int64   `json:"offset_ns"`
		Interval [2]uint64 `json:"interval_ns_exact"`
		Naive    int64     `json:"naive_rounded_interval_error_ns_after_1e8"`
	}
	v.Decode(t, &in, &want)
	s := Schedule{Costs: []uint64{in.BitsPerPacket}, Sizes: []int{0}, MicroRate: in.RateBps * microsPerUnit}
	for i, n := range in.N {
		if got := int64(s.Due(n)); got != want.OffsetNS[i] {
			t.Errorf("packet %d is due at %d ns, want %d", n, got, want.OffsetNS[i])
		}
	}
	// The same as fractions, and what a rounded interval would have cost.
	if in.BitsPerPacket*1e9*want.Interval[1] != in.RateBps*want.Interval[0] {
		t.Errorf("interval is not %v", want.Interval)
	}
	rounded := int64(math.Round(float64(want.Interval[0]) / float64(want.Interval[1])))
	if got := rounded*1e8 - int64(s.Due(1e8)); got != want.Naive {
		t.Errorf("a rounded interval is off by %d ns, want %d", got, want.Naive)
	}
}

// rateVector feeds departures to a pacer's gaps and asks for the rate that they
// show: intervals count, not packets.
func rateVector(t *testing.T, v vectors.Vector) {
	var in struct {
		FirstNS       int64  `json:"first_ns"`
		LastNS        int64  `json:"last_ns"`
		Packets       int64  `json:"packets"`
		BitsPerPacket uint64 `json:"bits_per_packet"`
	}
	var want struct {
		PPS   float64 `json:"pps"`
		BPS   float64 `json:"bps"`
		Wrong float64 `json:"wrong_pps_if_counted_over_span"`
	}
	v.Decode(t, &in, &want)
	p := NewPacer(Schedule{
		Costs: []uint64{in.BitsPerPacket}, Sizes: []int{1}, Flows: 1, Burst: 1,
		MicroRate: uint64(want.BPS) * microsPerUnit,
	}, in.FirstNS)
	for i := range in.Packets {
		at := in.FirstNS + (in.LastNS-in.FirstNS)*i/(in.Packets-1)
		b, _, ok := p.Next(at)
		if !ok {
			t.Fatal("the schedule ended early")
		}
		p.Sent(b, b.N, at)
	}
	s := Finish(p)
	if math.Abs(s.ErrorPPM) > 1e-6 {
		t.Errorf("error %g ppm against the rate of the intervals", s.ErrorPPM)
	}
	if got := float64(s.Packets) / s.Span.Seconds(); math.Abs(got-want.PPS) > 1e-6 {
		t.Errorf("%g packets/s, want %g", got, want.PPS)
	}
	if span := float64(in.LastNS-in.FirstNS) / 1e9; float64(s.Packets)/span != want.Wrong {
		t.Errorf("the vector's wrong rate is not %g", want.Wrong)
	}
}

// burstVector asks for a share of a link's rate in bursts, and how long the link is
// silent between the last bit of one and the first of the next.
func burstVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Frame   uint64 `json:"frame_bytes"`
		Load    uint64 `json:"load_percent"`
		Burst   int    `json:"burst"`
		LinkBps uint64 `json:"link_bps"`
	}
	var want struct {
		GapUS float64 `json:"ibg_us"`
	}
	v.Decode(t, &in, &want)
	const preamble, silence = 8, 12 // bytes of each frame on the wire (IEEE 802.3)
	cost := 8 * (in.Frame + preamble + silence)
	p := NewPacer(Schedule{
		Costs: []uint64{cost}, Sizes: []int{int(in.Frame)}, Flows: 1, Burst: in.Burst,
		MicroRate: in.LinkBps * in.Load / 100 * microsPerUnit,
	}, 0)
	var due [2]int64
	for i := range due {
		b, _, ok := p.Next(math.MaxInt64 / 2)
		if !ok || b.N != in.Burst {
			t.Fatalf("burst %d has %d packets, want %d", i, b.N, in.Burst)
		}
		due[i] = int64(b.Due)
		p.Sent(b, b.N, int64(b.Due))
	}
	lasts := (float64(in.Burst)*float64(cost) - 8*silence) / float64(in.LinkBps)
	if got := float64(due[1]-due[0])/1e3 - 1e6*lasts; math.Abs(got-want.GapUS) > 1e-6 {
		t.Errorf("%g us of silence, want %g", got, want.GapUS)
	}
}
