package session

import (
	"fmt"
	"math"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/plan"
)

// The counter in the kernel says exactly what a wire did, as the others do that
// see the packets: each fault alone and all of them, one flow and many.
func TestKernelCounterIsExact(t *testing.T) {
	const n = 64 * 250
	for i, c := range []struct {
		name string
		lab.Impairment
	}{
		{"every 1000th dropped", lab.Impairment{DropEvery: 1000}},
		{"every 777th duplicated", lab.Impairment{DupEvery: 777}},
		{"a run of 5000 dropped", lab.Impairment{DropFrom: 3000, DropTo: 8000}},
		{"neighbours swapped", lab.Impairment{SwapEvery: 2}},
		{"together", lab.Impairment{DropEvery: 1000, DupEvery: 777, DropFrom: 3000, DropTo: 8000, SwapEvery: 10}},
		{"the start dropped", lab.Impairment{DropTo: 5000, DupEvery: 777}},
		{"the end dropped", lab.Impairment{DropFrom: n - 5000, DropTo: math.MaxUint64, DupEvery: 777}},
		{"all dropped", lab.Impairment{DropTo: math.MaxUint64}},
	} {
		for _, flows := range []int{1, 64} {
			if flows > 1 && i%2 == 1 {
				continue // half of them will do
			}
			v6 := (i+flows)%2 == 0
			t.Run(fmt.Sprintf("%s/%d flows/v6=%v", c.name, flows, v6), func(t *testing.T) {
				exact(t, v6, n, c.Impairment, plan.SendRequest{
					Frame: map[bool]int{false: 64, true: 84}[v6], Path: "packet", Flows: flows, Burst: 1, Rate: mustRate(t, "120kpps"),
				}, "ebpf")
			})
		}
	}
}
