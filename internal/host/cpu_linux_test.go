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
	start, usedBefore := time.Now(), used()
	before, err := readCPU()
	must(t, err)
	for time.Since(start) < 400*time.Millisecond {
	}
	after, err := readCPU()
	must(t, err)
	want := (used() - usedBefore) / time.Since(start).Seconds()
	cpu := after.since(before)
	// The machine may be shared: a busy loop has had at least a part of a core.
	if cpu.Process < 0.1 || cpu.Process < want-0.05 || cpu.Process > want+0.05 {
		t.Errorf("a busy loop used %.2f cores, want %.2f", cpu.Process, want)
	}
	if sum := cpu.User + cpu.System; sum < cpu.Process-1e-9 || sum > cpu.Process+1e-9 {
		t.Errorf("%.3f of user and %.3f of system are not %.3f", cpu.User, cpu.System, cpu.Process)
	}
	if cpu.BusiestCore == nil || *cpu.BusiestCore < 0.1 || *cpu.BusiestCore > 1 || *cpu.Softirq < 0 {
		t.Errorf("the machine: %+v", cpu)
	}
}
