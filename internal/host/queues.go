package host

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"linerate/internal/result"
)

// A delivery is how a link's packets come to the cores.
type delivery struct {
	cores      int  // of this machine
	queues     int  // receive queues; 0 if unknown
	interrupts int  // of the device that are each served by one core
	served     int  // cores that serve them
	steered    bool // RPS spreads a queue's packets over cores
	coalesced  int  // µs that the device may wait before it interrupts
}

// check says whether the packets of a link come to more than one core.
func (d *delivery) check(name string) []result.Finding {
	var f []result.Finding
	switch {
	case d.queues > 1 && d.interrupts > 1 && d.served == 1 && d.cores > 1:
		f = append(f, warn("systemctl start irqbalance, or write each interrupt's own core to /proc/irq/*/smp_affinity_list",
			"%s has %d receive queues, but one core serves all of its interrupts", name, d.queues))
	case d.queues == 1 && !d.steered && d.cores > 1:
		one := ok("%s has one receive queue: one core of %d takes in all of its packets", name, d.cores)
		one.Mend = fmt.Sprintf("echo %s > /sys/class/net/%s/queues/rx-0/rps_cpus", coreMask(d.cores), name)
		f = append(f, one)
	case d.queues > 0:
		f = append(f, ok("%s receive queues: %d", name, d.queues))
	}
	const late = 100 // µs
	if d.coalesced > late {
		slow := ok("%s waits up to %d µs before it interrupts: delay and jitter have that in them", name, d.coalesced)
		slow.Mend = "ethtool -C " + name + " rx-usecs 10"
		f = append(f, slow)
	}
	return f
}

// coreMask names the first n cores, as the kernel reads a mask: groups of 32 bits, the
// highest first (bitmap_parse of lib/bitmap-str.c).
func coreMask(n int) string {
	groups := (n + 31) / 32
	return fmt.Sprintf("%x", uint64(1)<<(n-32*(groups-1))-1) + strings.Repeat(",ffffffff", groups-1)
}

// countCores counts the cores of a list such as "0-3,8" (cpuset(7), List Format);
// false if it is none.
func countCores(list string) (int, bool) {
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		if err != nil || a < 0 {
			return 0, false
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(last); err != nil || b < a {
				return 0, false
			}
		}
		n += b - a + 1
	}
	return n, true
}

// anyCore says whether a mask such as "00000000,00000003" (rps_cpus) names a core.
func anyCore(mask string) bool {
	for word := range strings.SplitSeq(strings.TrimSpace(mask), ",") {
		if n, err := strconv.ParseUint(word, 16, 64); err == nil && bits.OnesCount64(n) > 0 {
			return true
		}
	}
	return false
}
