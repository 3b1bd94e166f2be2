package units

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/vectors"
)

// stackInput is the part of an input that names headers.
type stackInput struct {
	VLANTags  int    `json:"vlan_tags"`
	L4        string `json:"l4"`
	IPVersion int    `json:"ip_version"`
}

func (in stackInput) stack() Stack {
	return Stack{
		VLANTags:      in.VLANTags,
		IPv6:          in.IPVersion == 6,
		TCP:           in.L4 != "udp",
		TCPTimestamps: in.L4 == "tcp_ts",
	}
}

// expected holds every key that a vector may expect; a key that is absent is nil
// and is not compared.
type expected struct {
	FrameBytes      *int      `json:"frame_bytes_incl_fcs"`
	PayloadBytes    *int      `json:"payload_bytes"`
	PadBytes        *int      `json:"pad_bytes"`
	IPPacketBytes   *int      `json:"ip_packet_bytes"`
	PPS             *float64  `json:"pps"`
	PPSExact        *[2]int64 `json:"pps_exact"`
	PPSFloor        *int64    `json:"pps_floor"`
	IntervalNS      *float64  `json:"interval_ns"`
	IntervalNSExact *[2]int64 `json:"interval_ns_exact"`
	L1Bps           *float64  `json:"l1_bps"`
	L2Bps           *float64  `json:"l2_bps"`
	L2NoFCSBps      *float64  `json:"l2_nofcs_bps"`
	L3Bps           *float64  `json:"l3_bps"`
	L4PayloadBps    *float64  `json:"l4_payload_bps"`
	MeanFrameBytes  *float64  `json:"mean_frame_bytes"`
	MeanFrameExact  *[2]int64 `json:"mean_frame_exact"`
	UDP4PayloadBps  *float64  `json:"udp4_payload_bps"`
	Sizes           *[]int    `json:"sizes"`
	Mean            *float64  `json:"mean"`
}

func TestVectors(t *testing.T) {
	vectors.Run(t, "rates", vectors.Checks{
		"line_rate":          lineRateVector,
		"rate_at_layer":      layerVector,
		"line_rate_overhead": overheadVector,
		"imix":               mixVector,
		"imix_genome":        genomeVector,
	})
}

func lineRateVector(t *testing.T, v vectors.Vector) {
	var in struct {
		stackInput
		LinkBps    int64 `json:"link_bps"`
		FrameBytes int   `json:"frame_bytes_incl_fcs"`
	}
	var want expected
	v.Decode(t, &in, &want)
	compare(t, atRate(in.stack(), in.stack().PayloadBytes(in.FrameBytes), L1, in.LinkBps), want)
}

func layerVector(t *testing.T, v vectors.Vector) {
	var in struct {
		stackInput
		Layer        string `json:"target_layer"`
		Bps          int64  `json:"target_bps"`
		PayloadBytes int    `json:"payload_bytes"`
	}
	var want expected
	v.Decode(t, &in, &want)
	layer, err := ParseLayer(in.Layer)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, atRate(in.stack(), in.PayloadBytes, layer, in.Bps), want)
}

func overheadVector(t *testing.T, v vectors.Vector) {
	var in struct {
		LinkBps    int64 `json:"link_bps"`
		FrameBytes int   `json:"frame_bytes_incl_fcs"`
		Overhead   int   `json:"overhead_bytes"`
	}
	var want expected
	v.Decode(t, &in, &want)
	wire := Stack{}.BytesAt(L1, Stack{}.PayloadBytes(in.FrameBytes)) + in.Overhead
	pps := big.NewRat(in.LinkBps, int64(8*wire))
	compare(t, expected{PPS: float(pps), PPSFloor: floor(pps)}, want)
}

func mixVector(t *testing.T, v vectors.Vector) {
	var in struct {
		LinkBps int64    `json:"link_bps"`
		Mix     [][2]int `json:"mix"`
	}
	var want expected
	v.Decode(t, &in, &want)
	compare(t, mixAtLineRate(t, in.LinkBps, in.Mix), want)
}

func genomeVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Genome string `json:"genome"`
	}
	var want expected
	v.Decode(t, &in, &want)
	sizes, err := ParseIMIX(in.Genome)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, size := range sizes {
		sum += size
	}
	compare(t, expected{Sizes: &sizes, Mean: float(big.NewRat(int64(sum), int64(len(sizes))))}, want)
}

// atRate is everything about packets of one payload size at bps of a layer.
func atRate(s Stack, payload int, layer Layer, bps int64) expected {
	pps := big.NewRat(bps, int64(8*s.BytesAt(layer, payload)))
	interval := new(big.Rat).Quo(big.NewRat(1e9, 1), pps)
	at := func(bytes int) *float64 {
		return float(new(big.Rat).Mul(pps, big.NewRat(int64(8*bytes), 1)))
	}
	frame := s.FrameBytes(payload)
	pad := s.PayloadBytes(frame) - payload
	ip := s.BytesAt(L3, payload)
	return expected{
		FrameBytes: &frame, PayloadBytes: &payload, PadBytes: &pad, IPPacketBytes: &ip,
		PPS: float(pps), PPSExact: exact(pps), PPSFloor: floor(pps),
		IntervalNS: float(interval), IntervalNSExact: exact(interval),
		L1Bps: at(s.BytesAt(L1, payload)), L2Bps: at(s.BytesAt(L2, payload)), L2NoFCSBps: at(frame - FCSBytes),
		L3Bps: at(ip), L4PayloadBps: at(s.BytesAt(L4, payload)),
	}
}

// mixAtLineRate is the rates of a mix of UDP over IPv4 at line rate, from the
// sums over one cycle.
func mixAtLineRate(t *testing.T, link int64, mix [][2]int) expected {
	var parts []string
	for _, part := range mix {
		parts = append(parts, fmt.Sprintf("%d:%d", part[1], part[0]))
	}
	cycle, err := ParseIMIX(strings.Join(parts, ","))
	if err != nil {
		t.Fatal(err)
	}
	var sum [L4 + 1]int64
	for _, frame := range cycle {
		for l := L1; l <= L4; l++ {
			sum[l] += int64(Stack{}.BytesAt(l, Stack{}.PayloadBytes(frame)))
		}
	}
	n := int64(len(cycle))
	pps := big.NewRat(n*link, 8*sum[L1])
	mean := big.NewRat(sum[L2], n)
	at := func(l Layer) *float64 { return float(big.NewRat(link*sum[l], sum[L1])) }
	return expected{
		PPS: float(pps), PPSFloor: floor(pps), MeanFrameBytes: float(mean), MeanFrameExact: exact(mean),
		L2Bps: at(L2), L3Bps: at(L3), UDP4PayloadBps: at(L4),
	}
}

// compare compares what want has: integers and fractions exactly, floats at
// relative 1e-9 or, as the file prints six decimals, absolute 1e-6.
func compare(t *testing.T, got, want expected) {
	t.Helper()
	g, w := reflect.ValueOf(&got).Elem(), reflect.ValueOf(want)
	for i := range w.NumField() {
		if w.Field(i).IsNil() {
			g.Field(i).SetZero()
		}
	}
	near := cmp.Comparer(func(x, y float64) bool {
		return math.Abs(x-y) <= max(1e-6, 1e-9*math.Abs(y))
	})
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func float(r *big.Rat) *float64 {
	f, _ := r.Float64()
	return &f
}

func exact(r *big.Rat) *[2]int64 { return &[2]int64{r.Num().Int64(), r.Denom().Int64()} }

func floor(r *big.Rat) *int64 {
	n := new(big.Int).Quo(r.Num(), r.Denom()).Int64()
	return &n
}
