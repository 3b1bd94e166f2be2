package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/units"
)

func rateOf(t *testing.T, s string) units.Rate {
	t.Helper()
	r, err := units.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BC-021: a rate is that of all flows together.
func TestSchedule(t *testing.T) {
	tenGigabit := &host.Link{Name: "eth0", SpeedBps: 10e9}
	const second = time.Second
	for _, tt := range []struct {
		name  string
		rate  string
		layer units.Layer
		r     SendRequest
		sizes []int
		want  pace.Schedule
		pps   float64
	}{
		{"payload", "500M", 0, SendRequest{}, []int{8972},
			pace.Schedule{Costs: []uint64{71776}, MicroRate: 500e12, Flows: 1, Burst: 1, Most: 1, Duration: 10 * second}, 500e6 / 71776},
		{"the rate's own layer wins", "1G@l1", units.L3, SendRequest{Flows: 3}, []int{1472},
			pace.Schedule{Costs: []uint64{1538 * 8}, MicroRate: 1e15, Flows: 3, Burst: 1, Most: 1, Duration: 10 * second}, 1e9 / (1538 * 8)},
		{"a layer of its own", "1G", units.L2, SendRequest{Duration: second}, []int{18},
			pace.Schedule{Costs: []uint64{64 * 8}, MicroRate: 1e15, Flows: 1, Burst: 1, Most: 64, Duration: second}, 1e9 / 512},
		{"packets", "1.5Mpps", 0, SendRequest{Count: 7}, []int{18, 548},
			pace.Schedule{Costs: []uint64{1, 1}, MicroRate: 1.5e12, Flows: 1, Burst: 1, Most: 64, Count: 7}, 1.5e6},
		{"a mix", "100M", 0, SendRequest{Burst: 9}, []int{18, 1472},
			pace.Schedule{Costs: []uint64{144, 11776}, MicroRate: 100e12, Flows: 1, Burst: 9, Most: 9, Duration: 10 * second}, 100e6 / 5960},
		{"a part of the link", "95%", 0, SendRequest{}, []int{1472},
			pace.Schedule{Costs: []uint64{1538 * 8}, MicroRate: 9500e12, Flows: 1, Burst: 1, Most: 64, Duration: 10 * second}, 9.5e9 / 12304},
		{"as fast as possible", "max", 0, SendRequest{}, []int{18},
			pace.Schedule{Costs: []uint64{1}, Flows: 1, Burst: 64, Most: 64, Duration: 10 * second}, 0},
		{"bytes", "100M", 0, SendRequest{Bytes: 1473}, []int{1472},
			pace.Schedule{Costs: []uint64{11776}, MicroRate: 100e12, Flows: 1, Burst: 1, Most: 1, Count: 2}, 100e6 / 11776},
	} {
		tt.r.Rate, tt.want.Sizes = rateOf(t, tt.rate), tt.sizes
		o, err := newOffer(tt.r.Rate, tt.layer, tenGigabit)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := newSchedule(&tt.r, &o, units.Stack{}, tt.sizes)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || o.pps != tt.pps {
			t.Errorf("%s: %v packets/s, want %v (-want +got):\n%s", tt.name, o.pps, tt.pps, diff)
		}
	}
}

func TestScheduleRefused(t *testing.T) {
	var usage *UsageError
	if _, err := newOffer(rateOf(t, "95%"), 0, &host.Link{Name: "veth0"}); !errors.As(err, &usage) || usage.Flag != "rate" {
		t.Errorf("a part of an unknown speed: %v", err)
	}
	if _, err := newOffer(rateOf(t, "95%"), units.L4, &host.Link{SpeedBps: 1e9}); !errors.As(err, &usage) || usage.Flag != "layer" {
		t.Errorf("a part of the link at L4: %v", err)
	}
	o := offer{rate: rateOf(t, "1M"), layer: units.L4}
	if _, err := newSchedule(&SendRequest{Count: 1, Bytes: 1}, &o, units.Stack{}, []int{18}); !errors.As(err, &usage) || usage.Flag != "bytes" {
		t.Errorf("count and bytes: %v", err)
	}
}

func TestPacketsOf(t *testing.T) {
	for _, tt := range []struct {
		bytes uint64
		sizes []int
		want  uint64
	}{
		{1, []int{1472}, 1}, {1472, []int{1472}, 1}, {1473, []int{1472}, 2}, {14720, []int{1472}, 10},
		{1, []int{18, 548, 1472}, 1}, {19, []int{18, 548, 1472}, 2}, {2038, []int{18, 548, 1472}, 3},
		{2039, []int{18, 548, 1472}, 4}, {1 << 62, []int{1}, 1 << 62},
	} {
		if got := packetsOf(tt.bytes, tt.sizes); got != tt.want {
			t.Errorf("%d bytes in %v: %d packets, want %d", tt.bytes, tt.sizes, got, tt.want)
		}
	}
}

func TestBursts(t *testing.T) {
	type burst struct{ planned, most int }
	for _, tt := range []struct {
		r    SendRequest
		pps  float64
		want burst
	}{
		{SendRequest{}, 0, burst{64, 64}},
		{SendRequest{}, 1.0 / 60, burst{1, 1}},
		{SendRequest{}, 100_000, burst{1, 1}},
		{SendRequest{}, 100_001, burst{1, 64}},
		{SendRequest{Smooth: true}, 1e9, burst{1, 1}},
		{SendRequest{Smooth: true}, 0, burst{1, 1}},
		{SendRequest{Burst: 9}, 1, burst{9, 9}},
		{SendRequest{Burst: 9}, 1e9, burst{9, 9}},
	} {
		planned, most := bursts(&tt.r, tt.pps)
		if got := (burst{planned, most}); got != tt.want {
			t.Errorf("%+v at %g packets/s: %+v, want %+v", tt.r, tt.pps, got, tt.want)
		}
	}
}

// TestBurstIsShort is BC-123: at no rate do packets that are sent back to back, and
// so perhaps as one super-frame, take more than a millisecond of it.
func TestBurstIsShort(t *testing.T) {
	for pps := 1.0; pps < 1e8; pps *= 1.1 {
		for _, path := range gen.Paths {
			s := Send{Path: &path}
			s.Schedule.Burst, s.Schedule.Most = bursts(&SendRequest{}, pps)
			if path.Bulk != 0 {
				s.bulk(pps)
			}
			if n := s.Schedule.Most; n > 1 && float64(n)/pps > 1e-3 || s.Schedule.Burst != 1 {
				t.Errorf("%s at %g packets/s: bursts of %d", path.Name, pps, n)
			}
		}
	}
	const pps = 20e6 / 8000 // 20 Mbit/s of 1000 bytes
	if _, n := bursts(&SendRequest{}, pps); n != 1 {
		t.Errorf("20 Mbit/s of 1000 bytes: bursts of %d, want 1", n)
	}
}

func TestAboveLine(t *testing.T) {
	gigabit := &host.Link{Name: "eth0", SpeedBps: 1e9}
	warning := func(rate string, link *host.Link) string {
		r := rateOf(t, rate)
		o, err := newOffer(r, 0, link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newSchedule(&SendRequest{Rate: r}, &o, units.Stack{}, []int{1472}); err != nil {
			t.Fatal(err)
		}
		return o.aboveLine("rate", r, units.Stack{}, []int{1472}, link)
	}
	want := "--rate 1G is more than eth0 carries at 1 Gbit/s: at most 957.1 Mbit/s at l4 (81.27 kpps)"
	if diff := cmp.Diff(want, warning("1G", gigabit)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, rate := range []string{"957M", "1G@l1", "100%", "max", "81.2kpps"} {
		if w := warning(rate, gigabit); w != "" {
			t.Errorf("%s: %s", rate, w)
		}
	}
	if w := warning("81.3kpps", gigabit); w == "" {
		t.Error("no warning of 81.3 kpps")
	}
	if w := warning("1T", &host.Link{Name: "veth0"}); w != "" {
		t.Errorf("of an unknown speed: %s", w)
	}
}
