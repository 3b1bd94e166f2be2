package host

import (
	"time"

	"linerate/internal/result"
)

// CPUTimes is a snapshot of the CPU time that this process and the machine
// have used.
type CPUTimes struct {
	at           time.Time
	user, system time.Duration       // of this process, all threads
	involuntary  int64               // context switches of this process, all threads
	cores        map[int64]coreTimes // of the machine; nil where it is not told
}

// coreTimes is what one core has done since boot, in ticks.
type coreTimes struct {
	total   int64
	busy    int64 // neither idle nor waiting for a disk; stolen time counts
	softirq int64
	steal   int64 // taken by the hypervisor for others
}

// Since is what was used between the two snapshots, in cores: 1 is one core
// busy all the time. Process, User, System and the context switches are this process's;
// Softirq, Steal and BusiestCore are the machine's and absent if either snapshot
// lacks them. The
// result is nil if no time passed.
func (c CPUTimes) Since(before CPUTimes) *result.CPU {
	elapsed := c.at.Sub(before.at).Seconds()
	if elapsed <= 0 {
		return nil
	}
	user := (c.user - before.user).Seconds() / elapsed
	system := (c.system - before.system).Seconds() / elapsed
	cpu := &result.CPU{
		Process: user + system, User: user, System: system,
		InvoluntarySwitches: c.involuntary - before.involuntary,
	}
	var softirq, steal, busiest float64
	known := false
	for core, now := range c.cores {
		then, ok := before.cores[core]
		total := now.total - then.total
		if !ok || total <= 0 {
			continue
		}
		// The kernel's ticks are their own clock: divide by them, not by ours,
		// so that no core is busier than 1.
		known = true
		softirq += float64(now.softirq-then.softirq) / float64(total)
		steal += float64(now.steal-then.steal) / float64(total)
		busiest = max(busiest, float64(now.busy-then.busy)/float64(total))
	}
	if known {
		cpu.Softirq, cpu.Steal, cpu.BusiestCore = &softirq, &steal, &busiest
	}
	return cpu
}
