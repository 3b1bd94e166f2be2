package host

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// capabilities are those that all paths and counters together need.
var capabilities = []struct {
	name string
	bit  int
}{
	{"CAP_NET_RAW", unix.CAP_NET_RAW}, {"CAP_NET_ADMIN", unix.CAP_NET_ADMIN},
	{"CAP_BPF", unix.CAP_BPF}, {"CAP_PERFMON", unix.CAP_PERFMON},
}

// readMachine looks at the machine.
func readMachine() *machine {
	m := &machine{quota: readQuota(groups())}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.release = unix.ByteSliceToString(u.Release[:])
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) == nil {
		for _, c := range capabilities {
			if data[c.bit/32].Effective&(1<<(c.bit%32)) == 0 {
				m.missing = append(m.missing, c.name)
			}
		}
	}
	if state, known := linux.Clock(); known {
		m.clock = &state
	}
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			if m.governor == nil {
				m.governor = map[string]int{}
			}
			m.governor[strings.TrimSpace(string(text))]++
		}
	}
	return m
}
