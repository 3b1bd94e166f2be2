package host

import (
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// BC-141: what a busy process used, in cores, within 5 points of /proc/PID/stat.
func TestReadCPU(t *testing.T) {
	self, err := procfs.Self()
	must(t, err)
	used := func() float64 {
		stat, err := self.Stat()
		must(t, err)
		return stat.CPUTime()
	}
	// Others may have the processor between two readings: what they tell lies between
	// what was used within them, and what around them.
	outer, usedOuter := time.Now(), used()
	before, err := readCPU()
	must(t, err)
	inner, usedInner := time.Now(), used()
	for time.Since(inner) < 400*time.Millisecond {
	}
	usedWithin, short := used()-usedInner, time.Since(inner).Seconds()
	after, err := readCPU()
	must(t, err)
	long := time.Since(outer).Seconds()
	least, most := usedWithin/long, (used()-usedOuter)/short
	cpu := after.since(before)
	// The machine may be shared: a busy loop has had at least a part of a core.
	const tick = 0.05 // of the kernel's account, as a share of the loop
	if cpu.Process < 0.1 || cpu.Process < least-tick || cpu.Process > most+tick {
		t.Errorf("a busy loop used %.2f cores, want %.2f to %.2f", cpu.Process, least, most)
	}
	if sum := cpu.User + cpu.System; sum < cpu.Process-1e-9 || sum > cpu.Process+1e-9 {
		t.Errorf("%.3f of user and %.3f of system are not %.3f", cpu.User, cpu.System, cpu.Process)
	}
	if cpu.BusiestCore == nil || *cpu.BusiestCore < 0.1 || *cpu.BusiestCore > 1 || *cpu.Softirq < 0 {
		t.Errorf("the machine: %+v", cpu)
	}
}
