package host

import (
	"testing"
	"time"
)

func TestReadCPU(t *testing.T) {
	before, err := readCPU()
	must(t, err)
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
	}
	after, err := readCPU()
	must(t, err)
	cpu := after.since(before)
	// The machine may be shared: a busy loop has had at least a part of a core.
	if cpu.Process < 0.1 || cpu.Process > float64(len(after.cores))+0.1 {
		t.Errorf("a busy loop used %.2f cores", cpu.Process)
	}
	if cpu.BusiestCore == nil || *cpu.BusiestCore < 0.1 || *cpu.BusiestCore > 1 || *cpu.Softirq < 0 {
		t.Errorf("the machine: %+v", cpu)
	}
}
