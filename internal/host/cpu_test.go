package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// BC-141: shares are of one core each.
func TestCPUSince(t *testing.T) {
	start := time.Now()
	before := cpuTimes{
		at: start, user: time.Second, system: time.Second, involuntary: 5,
		threads:    map[int]thread{1: {time.Second, 0}, 2: {time.Second, 0}},
		cores:      map[int64]coreTimes{0: {user: 9, softirq: 1, idle: 90}, 1: {user: 50, idle: 50}},
		interrupts: 1000, switches: 500,
	}
	after := cpuTimes{
		at: start.Add(2 * time.Second), user: 1500 * time.Millisecond, system: 4 * time.Second, involuntary: 12,
		// Core 2 came up in between.
		threads:    map[int]thread{1: {time.Second, 0}, 2: {2 * time.Second, 1}, 3: {100 * time.Millisecond, 0}},
		cores:      map[int64]coreTimes{0: {user: 109, softirq: 51, idle: 140}, 1: {user: 75, softirq: 25, idle: 200}, 2: {idle: 1}},
		interrupts: 3000, switches: 600,
	}
	softirq, steal, busiest, share, core := 0.375, 0.0, 0.75, 0.5, 1
	want := &result.CPU{Process: 1.75, User: 0.25, System: 1.5, Softirq: &softirq, BusiestCore: &busiest, BusiestThread: &share, BusiestThreadCore: &core, Steal: &steal, InvoluntarySwitches: 7,
		Cores: []result.Core{{Core: 0, User: 0.5, Softirq: 0.25, Idle: 0.25}, {Core: 1, User: 0.125, Softirq: 0.125, Idle: 0.75}}}
	if diff := cmp.Diff(want, after.since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if i, n := after.rates(before); *i != 1000 || *n != 50 {
		t.Errorf("%v interrupts and %v context switches a second, want 1000 and 50", *i, *n)
	}
	before.cores = nil
	want.Softirq, want.Steal, want.BusiestCore, want.Cores = nil, nil, nil, nil
	if diff := cmp.Diff(want, after.since(before)); diff != "" {
		t.Errorf("without the machine's part (-want +got):\n%s", diff)
	}
	if got := after.since(after); got != nil {
		t.Errorf("over no time: %+v", got)
	}
}
