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
	ns := func(d time.Duration) *time.Duration { return &d }
	before := cpuTimes{
		at: start, user: time.Second, system: time.Second, involuntary: 5,
		threads:    map[int]thread{1: {used: time.Second}, 2: {used: time.Second, waited: ns(time.Second)}},
		cores:      map[int64]coreTimes{0: {user: 9, softirq: 1, idle: 90}, 1: {user: 50, idle: 50}},
		interrupts: 1000, switches: 500,
	}
	after := cpuTimes{
		at: start.Add(2 * time.Second), user: 1500 * time.Millisecond, system: 4 * time.Second, involuntary: 12,
		// Core 2 came up in between.
		threads:    map[int]thread{1: {used: time.Second}, 2: {4 * time.Second, ns(1500 * time.Millisecond), 1}, 3: {used: 100 * time.Millisecond}},
		cores:      map[int64]coreTimes{0: {user: 109, softirq: 51, idle: 140}, 1: {user: 75, softirq: 25, idle: 200}, 2: {idle: 1}},
		interrupts: 3000, switches: 600,
	}
	softirq, steal, busiest, share, waited, core, switches := 0.375, 0.0, 0.75, 1.5, 0.25, 1, int64(7)
	want := &result.CPU{Process: 1.75, User: 0.25, System: 1.5, Softirq: &softirq, BusiestCore: &busiest, BusiestThread: &share, BusiestThreadCore: &core, BusiestThreadWaited: &waited, Steal: &steal, InvoluntarySwitches: &switches,
		Cores: []result.Core{{Core: 0, User: 0.5, Softirq: 0.25, Idle: 0.25}, {Core: 1, User: 0.125, Softirq: 0.125, Idle: 0.75}}}
	if diff := cmp.Diff(want, after.since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if i, n := after.rates(before); *i != 1000 || *n != 50 {
		t.Errorf("%v interrupts and %v context switches a second, want 1000 and 50", *i, *n)
	}
	delete(after.threads, 2)
	if got := after.since(before); got.BusiestThread != nil || got.BusiestThreadCore != nil || got.BusiestThreadWaited != nil {
		t.Errorf("%.2f cores for the busiest thread, which has ended", *got.BusiestThread)
	}
	want.BusiestThread, want.BusiestThreadCore, want.BusiestThreadWaited = nil, nil, nil
	before.cores = nil
	want.Softirq, want.Steal, want.BusiestCore, want.Cores = nil, nil, nil, nil
	if diff := cmp.Diff(want, after.since(before)); diff != "" {
		t.Errorf("without the machine's part (-want +got):\n%s", diff)
	}
	if got := after.since(after); got != nil {
		t.Errorf("over no time: %+v", got)
	}
}
