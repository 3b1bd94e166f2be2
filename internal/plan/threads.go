package plan

import (
	"fmt"
	"runtime"
	"strings"

	"linerate/internal/host"
	"linerate/internal/linux"
	"linerate/rx"
)

// AutoThreads asks for as many workers as can each have a processor, and flows or
// a queue of the interface where they need them.
const AutoThreads = -1

// placement checks the processors that were asked for.
func placement(cpus []int, realtime bool) (linux.Placement, error) {
	for _, cpu := range cpus {
		if !linux.MayRunOn(cpu) {
			return linux.Placement{}, &UsageError{"cpu", fmt.Sprintf("this process may not run on processor %d (nproc --all counts them, taskset -p shows which it may use)", cpu)}
		}
	}
	return linux.Placement{CPUs: cpus, Realtime: realtime}, nil
}

// many reports whether more than one worker is asked for.
func (r *SendRequest) many() bool { return r.Threads > 1 || r.Threads == AutoThreads }

// processors is how many workers have one each.
func processors(cpus []int) int {
	if len(cpus) > 0 {
		return len(cpus)
	}
	return runtime.NumCPU()
}

// workers settles the threads of a sender, each of which sends whole flows.
func (s *Send) workers(r *SendRequest, link *host.Link) (err error) {
	flows := s.Schedule.Flows
	switch s.Workers = r.Threads; {
	case r.Threads == AutoThreads:
		s.Workers = min(processors(r.CPUs), flows)
		if s.Path.Queue {
			s.Workers = max(1, min(s.Workers, link.TXQueues-r.Queue))
		}
	case r.Threads == 0:
		s.Workers = 1
	case r.Threads > flows:
		return &UsageError{"threads", fmt.Sprintf("each of %d workers sends flows of its own: give --flows %d or more", r.Threads, r.Threads)}
	}
	if r.Queue != 0 && !s.Path.Queue {
		return &UsageError{"queue", fmt.Sprintf("path %s has no queue to itself: the kernel chooses one for each flow", s.Path.Name)}
	}
	s.Placement, err = placement(r.CPUs, r.Realtime)
	return err
}

// workers settles the threads of a receiver, over which the kernel spreads whole
// flows.
func (p *Receive) workers(r *RecvRequest) (err error) {
	switch p.Workers = r.Threads; {
	case r.Threads == 0, r.Threads == AutoThreads && (!p.Path.Spreads || r.Count > 0):
		p.Workers = 1
	case r.Threads == AutoThreads:
		p.Workers = processors(r.CPUs)
	case r.Threads > 1 && !p.Path.Spreads:
		return &UsageError{"threads", fmt.Sprintf("rx %s counts on one thread: %s can have more", p.Path.Name, spreading())}
	case r.Threads > 1 && r.Count > 0:
		return &UsageError{"threads", "contradicts --count, which one thread has to keep"}
	}
	p.Limits.Placement, err = placement(r.CPUs, r.Realtime)
	return err
}

// spreading names the receive paths that several threads can share.
func spreading() string {
	var names []string
	for i := range rx.Paths {
		if rx.Paths[i].Spreads {
			names = append(names, rx.Paths[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
