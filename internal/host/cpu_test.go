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
		at: start, user: time.Second, system: time.Second,
		cores: map[int64]coreTimes{0: {total: 100, busy: 10, softirq: 1}, 1: {total: 100, busy: 50}},
	}
	after := CPUTimes{
		at: start.Add(2 * time.Second), user: 1500 * time.Millisecond, system: 4 * time.Second,
		// Core 2 came up in between.
		cores: map[int64]coreTimes{0: {total: 300, busy: 160, softirq: 51}, 1: {total: 300, busy: 100, softirq: 25}, 2: {total: 1}},
	}
	softirq, busiest := 0.375, 0.75
	want := &result.CPU{Process: 1.75, User: 0.25, System: 1.5, Softirq: &softirq, BusiestCore: &busiest}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before.cores = nil
	want.Softirq, want.BusiestCore = nil, nil
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("without the machine's part (-want +got):\n%s", diff)
	}
	if got := after.Since(after); got != nil {
		t.Errorf("over no time: %+v", got)
	}
}
