package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// A group is the directory of one control group that may limit CPU time.
type group struct {
	dir     string
	version int
}

// groups are those of this process and all above them, as far as they are
// mounted here: each may hold the process back.
func groups() []group {
	self, err := procfs.Self()
	if err != nil {
		return nil
	}
	member, err := self.Cgroups()
	if err != nil {
		return nil
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return nil
	}
	var all []group
	for _, m := range mounts {
		for _, c := range member {
			version := 2
			if _, has := m.SuperOptions["cpu"]; m.FSType == "cgroup" && has && slices.Contains(c.Controllers, "cpu") {
				version = 1
			} else if m.FSType != "cgroup2" || c.HierarchyID != 0 {
				continue
			}
			below, under := strings.CutPrefix(c.Path+"/", strings.TrimSuffix(m.Root, "/")+"/")
			if !under {
				continue
			}
			for dir := filepath.Join(m.MountPoint, below); len(dir) >= len(m.MountPoint); dir = filepath.Dir(dir) {
				all = append(all, group{dir, version})
			}
		}
	}
	return all
}

// readQuota adds up what the groups cost this process; nil if none can limit it.
func readQuota(groups []group) *quota {
	var all *quota
	for _, g := range groups {
		periods, stood, known := parseCPUStat(g.file("cpu.stat"))
		if !known {
			continue
		}
		cores, limited := g.quota()
		if !limited {
			continue
		}
		if all == nil {
			all = &quota{cores: cores}
		}
		all.periods += periods
		all.time += stood
		all.cores = min(all.cores, cores)
	}
	return all
}

func (g group) quota() (cores float64, limited bool) {
	if g.version == 1 {
		return parseQuota(g.file("cpu.cfs_quota_us"), g.file("cpu.cfs_period_us"))
	}
	quota, period, _ := strings.Cut(g.file("cpu.max"), " ")
	return parseQuota(quota, period)
}

func (g group) file(name string) string {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
