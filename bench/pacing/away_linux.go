package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"linerate/internal/linux"
)

// away is what the machine took from a thread.
type away struct {
	switches uint64        // involuntary
	waited   time.Duration // that it was ready to run and others had the processor
	stolen   time.Duration // that the hypervisor gave to other machines, of all processors, in ticks of 10 ms
}

func (a away) String() string {
	return fmt.Sprintf("%d times, %.1f ms, stolen %.0f ms", a.switches, 1e3*a.waited.Seconds(), 1e3*a.stolen.Seconds())
}

// since is what was taken since an earlier reading.
func (a away) since(b away) away {
	return away{switches: a.switches - b.switches, waited: a.waited - b.waited, stolen: a.stolen - b.stolen}
}

// A reading is what was taken from each thread of a program so far, and what it ran for.
type reading map[int]struct {
	away
	ran time.Duration
}

// readAway reads what was taken from the threads of a process so far.
func readAway(pid int) (reading, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	machine, err := fs.Stat()
	if err != nil {
		return nil, err
	}
	threads, err := fs.AllThreads(pid)
	if err != nil {
		return nil, err
	}
	r := reading{}
	for _, t := range threads {
		status, err := t.NewStatus()
		if err != nil {
			continue // it ended
		}
		turns, err := t.Schedstat()
		if err != nil {
			continue
		}
		of := r[t.PID]
		of.switches = status.NonVoluntaryCtxtSwitches
		of.waited = time.Duration(turns.WaitingNanoseconds)
		of.stolen = time.Duration(machine.CPUTotal.Steal * float64(time.Second))
		of.ran = time.Duration(turns.RunningNanoseconds)
		r[t.PID] = of
	}
	return r, nil
}

// watch reads what is taken from a process for a while, at its begin, which it returns
// in ns of CLOCK_MONOTONIC, and at the end of each window; and returns what was taken from
// the thread that ran for longest meanwhile, which is the one that sends.
func watch(pid int, length time.Duration) (begun int64, taken []away, err error) {
	var readings []reading
	begun = linux.Monotonic()
	for end := time.Duration(0); end <= length; end += short {
		linux.SleepUntil(begun + int64(end))
		r, err := readAway(pid)
		if err != nil {
			return 0, nil, err
		}
		readings = append(readings, r)
	}
	sender, most := 0, time.Duration(-1)
	for id, last := range readings[len(readings)-1] {
		if first, ok := readings[0][id]; ok && last.ran-first.ran > most {
			sender, most = id, last.ran-first.ran
		}
	}
	for _, r := range readings {
		taken = append(taken, r[sender].away)
	}
	return begun, taken, nil
}
