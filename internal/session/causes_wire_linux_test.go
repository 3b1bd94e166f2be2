package session

import (
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/plan"
)

// wireCauses are losses between the hosts, and others' traffic beside the test.
func wireCauses(t *testing.T) []cause {
	return []cause{
		{name: "a full tbf in the middle", lab: lab.Config{Shape: lab.Shape{Rate: 20e6, Limit: 20_000}}, recv: roomy, send: plain(t),
			want: map[string]int{"network": all}},
		{name: "the wire", lab: badWire(lab.Impairment{DropEvery: 10}), recv: roomy, send: plain(t),
			want: map[string]int{"network": 200}},
		{name: "the wire, with duplicates and reordering", lab: badWire(lab.Impairment{DropEvery: 10, DupEvery: 7, SwapEvery: 20}), recv: roomy, send: plain(t),
			want: map[string]int{"network": 200}},
		{name: "the wire, to a ring", lab: badWire(lab.Impairment{DropEvery: 10}), recv: plan.RecvRequest{RX: "ring"}, send: plainBy(t, "ring"),
			want: map[string]int{"network": 200}},
		{name: "the wire, counted in the kernel", lab: badWire(lab.Impairment{DropEvery: 10}), recv: plan.RecvRequest{RX: "ebpf"}, send: plainBy(t, "packet"),
			want: map[string]int{"network": 200}},
		// BC-032: loss by size.
		{name: "a size that the middle swallows", lab: badWire(lab.Impairment{DropAbove: 1000}), recv: roomy, send: plan.SendRequest{
			Path: "udp", IMIX: plan.Mix{Name: "mix", Frames: []int{300, 1300}}, Count: 2000, Rate: mustRate(t, "20kpps")},
			want: map[string]int{"network": 1000}},
		{name: "an outage of the middle", lab: lab.Config{Impair: &lab.Impairment{}}, recv: roomy,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")},
			amid: func(t *testing.T, l *lab.Lab) {
				time.Sleep(100 * time.Millisecond)
				check(t, l.SetOutage(true))
				time.Sleep(50 * time.Millisecond)
				check(t, l.SetOutage(false))
			}, want: map[string]int{"network": all}},
		{name: "others, whose socket overflows", recv: roomy, send: plain(t), amid: unheard},
		{name: "the wire, beside others whose socket overflows", lab: badWire(lab.Impairment{DropEvery: 10}), recv: roomy, amid: unheard,
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "20kpps")}, // for longer than the others
			want: map[string]int{"network": 800}},
		{name: "a link that goes down before the receiver", lab: lab.Config{Impair: &lab.Impairment{}}, recv: roomy, send: plain(t), cut: true,
			amid: func(t *testing.T, l *lab.Lab) {
				time.Sleep(20 * time.Millisecond)
				check(t, l.Middle().SetUp("mb", false))
			}, want: map[string]int{"network": all}},
	}
}
