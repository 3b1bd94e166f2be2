package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

func TestCPUSince(t *testing.T) {
	start := time.Now()
	before := CPUTimes{
		at: start, user: time.Second, system: time.Second, involuntary: 5,
		cores: map[int64]coreTimes{0: {total: 100, busy: 10, softirq: 1}, 1: {total: 100, busy: 50}},
	}
	after := CPUTimes{
		at: start.Add(2 * time.Second), user: 1500 * time.Millisecond, system: 4 * time.Second, involuntary: 12,
		// Core 2 came up in between.
		cores: map[int64]coreTimes{0: {total: 300, busy: 160, softirq: 51}, 1: {total: 300, busy: 100, softirq: 25, steal: 20}, 2: {total: 1}},
	}
	softirq, steal, busiest := 0.375, 0.1, 0.75
	want := &result.CPU{Process: 1.75, User: 0.25, System: 1.5, Softirq: &softirq, Steal: &steal, BusiestCore: &busiest, InvoluntarySwitches: 7}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before.cores = nil
	want.Softirq, want.Steal, want.BusiestCore = nil, nil, nil
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("without the machine's part (-want +got):\n%s", diff)
	}
	if got := after.Since(after); got != nil {
		t.Errorf("over no time: %+v", got)
	}
}
