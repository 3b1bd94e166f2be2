package linux

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// PinProcess keeps all threads of this process, and those that they start, to one
// CPU (sched_setaffinity(2)).
func PinProcess(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	// A thread that another one starts meanwhile may be missed, and its own, too:
	// the threads are gone through until all are known.
	pinned := make(map[int]bool)
	for before := -1; before < len(pinned); {
		before = len(pinned)
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || pinned[id] {
				continue
			}
			err = unix.SchedSetaffinity(id, &set)
			if err != nil && !errors.Is(err, unix.ESRCH) { // it ended
				return fmt.Errorf("sched_setaffinity to CPU %d: %w", cpu, err)
			}
			pinned[id] = true
		}
	}
	return nil
}
