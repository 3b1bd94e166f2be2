package host

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ReadCPU takes a snapshot by getrusage(2) and /proc/stat. Where /proc/stat
// can't be read the machine's part is unknown.
func ReadCPU() (CPUTimes, error) {
	c := CPUTimes{at: time.Now()}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return CPUTimes{}, fmt.Errorf("getrusage: %w", err)
	}
	c.user = time.Duration(ru.Utime.Nano())
	c.system = time.Duration(ru.Stime.Nano())
	c.involuntary = int64(ru.Nivcsw)
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return c, nil
	}
	stat, err := fs.Stat()
	if err != nil {
		return c, nil
	}
	c.cores = make(map[int64]coreTimes, len(stat.CPU))
	for core, s := range stat.CPU {
		// Guest time is a part of user time already.
		busy := s.User + s.Nice + s.System + s.IRQ + s.SoftIRQ + s.Steal
		c.cores[core] = coreTimes{total: ticks(busy + s.Idle + s.Iowait), busy: ticks(busy), softirq: ticks(s.SoftIRQ), steal: ticks(s.Steal)}
	}
	return c, nil
}

// ticks gives back the hundredths of a second (USER_HZ) that procfs has made
// seconds of.
func ticks(seconds float64) int64 { return int64(math.Round(seconds * 100)) }
