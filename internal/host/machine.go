package host

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/linux"
	"linerate/internal/result"
)

// A machine is what doctor looks at beside paths, buffers and the interface. Its
// zero values stand for what is unknown.
type machine struct {
	release  string // of the kernel, as uname -r has it
	missing  []string
	governor map[string]int // cores by the name of their cpufreq governor
	quota    *quota
	clock    *linux.ClockState
}

// check finds what of the machine would hold a test back.
func (m *machine) check() []result.Finding {
	var f []result.Finding
	if len(m.missing) > 0 {
		f = append(f, warn(setcap, "capabilities: this process lacks %s, which raw paths and the ledger's drop reasons need", strings.Join(m.missing, " ")))
	}
	f = append(f, m.checkKernel()...)
	for governor, cores := range m.governor {
		if governor != "performance" {
			f = append(f, warn("cpupower frequency-set -g performance",
				"the frequency governor of %d cores is %s: a core speeds up only once it is busy", cores, governor))
		}
	}
	if m.quota != nil {
		f = append(f, warn("raise cpu.max of its control group", "a control group allows this process %.2f cores, and stops it when they are used up", m.quota.cores))
	}
	switch {
	case m.clock == nil:
	case m.clock.Synchronised:
		f = append(f, ok("clock: synchronised, within %v", m.clock.MaxError))
	default:
		unsynchronised := ok("clock: not synchronised; one-way delay to another machine will be relative")
		unsynchronised.Mend = "timedatectl set-ntp true"
		f = append(f, unsynchronised)
	}
	return f
}

// kernelBugs are faults of kernels that spoil counts, from the version that has
// them to the one that has not: Tailscale pull requests 13052 and 19918.
var kernelBugs = []struct {
	from, to [3]int
	what     string
}{
	{[3]int{6, 6, 44}, [3]int{6, 6, 45}, "UDP GSO refuses a train with a short last packet"},
	{[3]int{7, 0, 0}, [3]int{7, 1, 0}, "UDP GSO can damage trains of packets of one length, unless the distribution mended it"},
}

// checkKernel names the known bugs of the running kernel.
func (m *machine) checkKernel() []result.Finding {
	version, known := parseRelease(m.release)
	if !known {
		return nil
	}
	for _, bug := range kernelBugs {
		if slices.Compare(version[:], bug.from[:]) >= 0 && slices.Compare(version[:], bug.to[:]) < 0 {
			return []result.Finding{warn("use --no-gso, or another kernel", "Linux %s: %s", m.release, bug.what)}
		}
	}
	return []result.Finding{ok("Linux %s has no known fault that spoils a test", m.release)}
}

// parseRelease reads the numbers at the front of a kernel's release.
func parseRelease(release string) (version [3]int, known bool) {
	n, _ := fmt.Sscanf(release, "%d.%d.%d", &version[0], &version[1], &version[2])
	return version, n >= 2 && version[0] >= 0 && version[1] >= 0 && version[2] >= 0
}
