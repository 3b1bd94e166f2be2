package cadence

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/vectors"
)

// TestVectors runs those of kind pacing; gen/pace has the schedules of the file.
func TestVectors(t *testing.T) {
	vectors.Run(t, "pacing", vectors.Checks{"pacing": pacingVector}, "schedule", "rate_from_stamps", "inter_burst_gap")
}

// A derived is an expectation that this package reports no figure for.
type derived = json.RawMessage

func pacingVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Departures []int64 `json:"departures_ns"`
		Target     float64 `json:"target_interval_ns"`
		WireTime   float64 `json:"wire_time_ns"`
		Bits       uint64  `json:"bits_per_packet"`
		Window     *int64  `json:"window_ns"`
	}
	type figures struct {
		MeanGap    float64        `json:"mean_gap_ns"`
		ErrorPPM   float64        `json:"rate_error_ppm"`
		MinGap     int64          `json:"min_gap"`
		MaxGap     int64          `json:"max_gap"`
		P50        int64          `json:"p50"`
		P99        int64          `json:"p99"`
		Within64   float64        `json:"within_64ns"`
		Within128  float64        `json:"within_128ns"`
		Within256  float64        `json:"within_256ns"`
		Within512  float64        `json:"within_512ns"`
		Microburst float64        `json:"microburst_fraction"`
		Trains     map[string]int `json:"train_histogram"`
		MaxTrain   uint64         `json:"max_train"`
		MaxEarly   derived        `json:"max_early_ns"` // of the schedule: gen/pace counts what is late
		MaxLate    derived        `json:"max_late_ns"`
		PerWindow  []uint64       `json:"packets_per_window"`
	}
	var want figures
	v.Decode(t, &in, &want)

	start := in.Departures[0]
	w := New(start)
	if in.Window != nil {
		w.windows[0] = newWindow(start, time.Duration(*in.Window))
	}
	for _, at := range in.Departures {
		w.Add(at, Load{1, in.Bits / 8}, int64(in.Target))
	}
	r := w.Result(start+int64(in.Target)*int64(len(in.Departures)), in.Target)
	within := func(ns float64) float64 { return w.gaps.share(in.Target-ns, in.Target+ns) }
	first, last := w.Span()
	_, before := w.Seen()
	mean := float64(last-first) / float64(before)
	got := figures{
		MeanGap: mean, ErrorPPM: (in.Target/mean - 1) * 1e6,
		MinGap: w.gaps.at(1), MaxGap: r.Gaps.Max, P50: r.Gaps.P50, P99: r.Gaps.P99,
		Within64: within(64), Within128: within(128), Within256: within(256), Within512: within(512),
		Microburst: w.gaps.share(0, 1.05*in.WireTime), MaxTrain: r.LongestRun,
		Trains: want.Trains, MaxEarly: want.MaxEarly, MaxLate: want.MaxLate, PerWindow: want.PerWindow,
	}
	near := cmpopts.EquateApprox(0, 2e-3) // as many decimals as the vectors have
	wide := cmp.Comparer(func(a, b int64) bool { return math.Abs(float64(a-b)) <= float64(a)/1024 })
	if diff := cmp.Diff(want, got, near, wide); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := want.PerWindow; n != nil {
		if got := r.Windows[0]; got.N != uint64(len(n)) || got.Least.Packets != slices.Min(n) || got.Most.Packets != slices.Max(n) {
			t.Errorf("windows %+v, want %v", got, n)
		}
	}
	if got, want := w.Mean(), int64(want.MeanGap); got != want {
		t.Errorf("mean gap %d, want %d", got, want)
	}
}

func TestWindowsHaveTheirExtremes(t *testing.T) {
	w := New(0)
	for i := range int64(3000) { // 1 kpps for 3 s, with 250 ms of silence and then twice as much
		at := i * int64(time.Millisecond)
		switch {
		case i >= 1200 && i < 1450:
			continue
		case i >= 1500 && i < 1600:
			w.Add(at, Load{2, 200}, 1e6)
			continue
		}
		w.Add(at, Load{1, 100}, 1e6)
	}
	r := w.Result(int64(3*time.Second), 1e6)
	want := [2]Window{
		{N: 30, Least: Load{0, 0}, Most: Load{200, 20_000}},
		{N: 3, Least: Load{850, 85_000}, Most: Load{1000, 100_000}},
	}
	if diff := cmp.Diff(want, r.Windows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.LongestRun != 2 || r.Gaps.Max != int64(251*time.Millisecond) {
		t.Errorf("longest run %d, longest gap %d", r.LongestRun, r.Gaps.Max)
	}
	// 2750 instants and 100 packets more at the time of another; all gaps between
	// instants are 1 ms but that of the silence.
	if want := 2748.0 / 2849; r.Gaps.N != 2849 || *r.Gaps.Near != want {
		t.Errorf("%d gaps, %v of them near, want %v", r.Gaps.N, *r.Gaps.Near, want)
	}
}

func TestNothingSeen(t *testing.T) {
	r := New(5).Result(7, 1)
	if r.Gaps != nil || r.LongestRun != 0 || r.Windows[0].N != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWatchAllocatesNothing(t *testing.T) {
	w := New(0)
	at := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		at += 1000
		w.Add(at, Load{1, 100}, 1000)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	w := New(0)
	at := int64(0)
	for b.Loop() {
		at += 1000
		w.Add(at, Load{1, 100}, 1000)
	}
}
