package host

import (
	"cmp"
	"slices"
	"time"

	"linerate/internal/result"
)

// cpuTimes is a snapshot of the CPU time that this process and the machine
// have used.
type cpuTimes struct {
	at           time.Time
	user, system time.Duration       // of this process, all threads
	involuntary  int64               // context switches of this process, all threads
	threads      map[int]thread      // of this process, each by its id
	cores        map[int64]coreTimes // of the machine; nil where it is not told
	interrupts   uint64              // that the machine served since boot, as its context switches; 0 if unknown
	switches     uint64
	frequency    *float64 // Hz, mean of the cores
	throttles    *uint64  // times that a core was slowed for its heat, since boot
}

// A thread is one of this process.
type thread struct {
	used   time.Duration  // of CPU time
	waited *time.Duration // that it was ready to run and others had the processor; nil if unknown
	core   int            // that it last ran on
}

// waitedSince is the share of some seconds that a thread waited for a processor; nil
// if it is unknown.
func (t thread) waitedSince(before thread, seconds float64) *float64 {
	if t.waited == nil {
		return nil
	}
	waited := *t.waited
	if before.waited != nil { // else it is new
		waited -= *before.waited
	}
	share := waited.Seconds() / seconds
	return &share
}

// few is a share that the kernel's ticks, in which the threads' times are, can make up.
const few = 0.2

// coreTimes is what one core has done since boot, in ticks. Guest time is a part
// of user time, waiting for a disk of idle.
type coreTimes struct {
	user, system, irq, softirq, steal, idle int64
}

func (c coreTimes) total() int64 {
	return c.user + c.system + c.irq + c.softirq + c.steal + c.idle
}

// since is what was used between the two snapshots, in cores: 1 is one core
// busy all the time. What either snapshot lacks is absent. The result is nil if
// no time passed.
func (c cpuTimes) since(before cpuTimes) *result.CPU {
	elapsed := c.at.Sub(before.at).Seconds()
	if elapsed <= 0 || before.at.IsZero() {
		return nil
	}
	user := (c.user - before.user).Seconds() / elapsed
	system := (c.system - before.system).Seconds() / elapsed
	switches := c.involuntary - before.involuntary
	cpu := &result.CPU{Process: user + system, User: user, System: system, FrequencyHz: c.frequency, InvoluntarySwitches: &switches}
	ended := cpu.Process // what threads used of which the end was not seen
	for id, now := range c.threads {
		then := before.threads[id]
		share := (now.used - then.used).Seconds() / elapsed
		ended -= share
		if cpu.BusiestThread == nil || share > *cpu.BusiestThread {
			cpu.BusiestThread, cpu.BusiestThreadCore, cpu.BusiestThreadWaited = &share, &now.core, now.waitedSince(then, elapsed)
		}
	}
	if cpu.BusiestThread != nil && ended > max(*cpu.BusiestThread, few) {
		cpu.BusiestThread, cpu.BusiestThreadCore, cpu.BusiestThreadWaited = nil, nil, nil
	}
	if c.throttles != nil && before.throttles != nil && *c.throttles >= *before.throttles {
		n := *c.throttles - *before.throttles
		cpu.ThermalThrottles = &n
	}
	for number, now := range c.cores {
		then, known := before.cores[number]
		// The kernel's ticks are their own clock: divide by them, not by ours,
		// so that no core is busier than 1.
		total := float64(now.total() - then.total())
		if !known || total <= 0 {
			continue
		}
		share := func(now, then int64) float64 { return float64(now-then) / total }
		cpu.Cores = append(cpu.Cores, result.Core{
			Core: int(number),
			User: share(now.user, then.user), System: share(now.system, then.system),
			IRQ: share(now.irq, then.irq), Softirq: share(now.softirq, then.softirq),
			Steal: share(now.steal, then.steal), Idle: share(now.idle, then.idle),
		})
	}
	slices.SortFunc(cpu.Cores, func(a, b result.Core) int { return cmp.Compare(a.Core, b.Core) })
	cpu.Softirq, cpu.Steal, cpu.BusiestCore = sum(cpu.Cores)
	return cpu
}

// sum is the softirq and the stolen time of all cores and how busy the busiest of
// them was; nil if none is known.
func sum(cores []result.Core) (softirq, steal, busiest *float64) {
	if len(cores) == 0 {
		return nil, nil, nil
	}
	softirq, steal, busiest = new(float64), new(float64), new(float64)
	for _, c := range cores {
		*softirq += c.Softirq
		*steal += c.Steal
		*busiest = max(*busiest, 1-c.Idle)
	}
	return softirq, steal, busiest
}

// rates are the machine's interrupts and context switches a second between the
// two snapshots; nil if unknown.
func (c cpuTimes) rates(before cpuTimes) (interrupts, switches *float64) {
	elapsed := c.at.Sub(before.at).Seconds()
	if elapsed <= 0 || before.switches == 0 {
		return nil, nil
	}
	i := float64(c.interrupts-before.interrupts) / elapsed
	s := float64(c.switches-before.switches) / elapsed
	return &i, &s
}
