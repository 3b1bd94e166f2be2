package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// away is what the machine took from a program.
type away struct {
	switches uint64        // involuntary, of all its threads
	waited   time.Duration // that they were ready to run and others had the processor
	stolen   time.Duration // that the hypervisor gave to other machines, of all processors
}

// readAway reads what was taken from a process so far. A thread that ends takes its
// share with it.
func readAway(pid int) (a away, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return a, err
	}
	machine, err := fs.Stat()
	if err != nil {
		return a, err
	}
	a.stolen = time.Duration(machine.CPUTotal.Steal * float64(time.Second))
	threads, err := fs.AllThreads(pid)
	if err != nil {
		return a, err
	}
	for _, t := range threads {
		status, err := t.NewStatus()
		if err != nil {
			continue // it ended
		}
		if turns, err := t.Schedstat(); err == nil {
			a.switches += status.NonVoluntaryCtxtSwitches
			a.waited += time.Duration(turns.WaitingNanoseconds)
		}
	}
	return a, nil
}

// since is what was taken since an earlier reading.
func (a away) since(b away) away {
	return away{switches: a.switches - min(a.switches, b.switches), waited: max(0, a.waited-b.waited), stolen: a.stolen - b.stolen}
}

func (a away) String() string {
	return fmt.Sprintf("%d times, %.1f ms, stolen %.0f ms", a.switches, 1e3*a.waited.Seconds(), 1e3*a.stolen.Seconds())
}
