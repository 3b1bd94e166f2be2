package host

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// readCPU takes a snapshot by getrusage(2), /proc and /sys. What can't be read is
// unknown.
func readCPU() (cpuTimes, error) {
	c := cpuTimes{at: time.Now()}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return cpuTimes{}, fmt.Errorf("getrusage: %w", err)
	}
	c.user = time.Duration(ru.Utime.Nano())
	c.system = time.Duration(ru.Stime.Nano())
	c.involuntary = int64(ru.Nivcsw)
	c.frequency, c.throttles = speeds()
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return c, nil
	}
	c.threads = threads(fs)
	stat, err := fs.Stat()
	if err != nil {
		return c, nil
	}
	c.interrupts, c.switches = stat.IRQTotal, stat.ContextSwitches
	c.cores = make(map[int64]coreTimes, len(stat.CPU))
	for core, s := range stat.CPU {
		c.cores[core] = coreTimes{
			user: ticks(s.User + s.Nice), system: ticks(s.System), irq: ticks(s.IRQ),
			softirq: ticks(s.SoftIRQ), steal: ticks(s.Steal), idle: ticks(s.Idle + s.Iowait),
		}
	}
	return c, nil
}

// ticks gives back the hundredths of a second (USER_HZ) that procfs has made
// seconds of.
func ticks(seconds float64) int64 { return int64(math.Round(seconds * 100)) }

// threads are this process's own, by their ids.
func threads(fs procfs.FS) map[int]thread {
	all, err := fs.AllThreads(os.Getpid())
	if err != nil {
		return nil
	}
	threads := make(map[int]thread, len(all))
	for _, t := range all {
		s, err := t.Stat()
		if err != nil {
			continue // it ended
		}
		one := thread{used: time.Duration(s.CPUTime() * float64(time.Second)), core: int(s.Processor)}
		if turns, err := t.Schedstat(); err == nil { // else a kernel without CONFIG_SCHED_INFO
			waited := time.Duration(turns.WaitingNanoseconds)
			one.waited = &waited
		}
		threads[t.PID] = one
	}
	return threads
}

// speeds are the mean frequency of the cores in Hz, and how often any was slowed
// for its heat, where the kernel tells.
func speeds() (frequency *float64, throttles *uint64) {
	const cores = "/sys/devices/system/cpu/cpu[0-9]*/"
	if all := numbers(cores + "cpufreq/scaling_cur_freq"); len(all) > 0 {
		var sum uint64
		for _, kHz := range all {
			sum += kHz
		}
		mean := 1000 * float64(sum) / float64(len(all))
		frequency = &mean
	}
	if all := numbers(cores + "thermal_throttle/core_throttle_count"); len(all) > 0 {
		throttles = new(uint64)
		for _, n := range all {
			*throttles += n
		}
	}
	return frequency, throttles
}

// numbers reads the files that match a pattern and hold a number.
func numbers(pattern string) (all []uint64) {
	files, _ := filepath.Glob(pattern)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}
