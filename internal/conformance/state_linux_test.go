package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"linerate/internal/lab"
)

// A state is what a test could leave behind in the hosts of a lab.
type state struct{ A, B hostState }

type hostState struct {
	XDP      bool // a program is attached
	MTU      int
	Qdiscs   string
	Offloads map[string]bool
	Sockets  map[string]int // by the file of /proc/net that lists them
}

func stateOf(t *testing.T, l *lab.Lab) (s state) {
	t.Helper()
	for h, to := range map[*lab.Host]*hostState{l.A(): &s.A, l.B(): &s.B} {
		must(t, h.Do(func() (err error) { *to, err = readState(h.Interface); return err }))
	}
	return s
}

func readState(name string) (s hostState, err error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return s, err
	}
	s.MTU = link.Attrs().MTU
	s.XDP = link.Attrs().Xdp != nil && link.Attrs().Xdp.Attached
	qdiscs, err := netlink.QdiscList(link)
	if err != nil {
		return s, err
	}
	for _, q := range qdiscs {
		s.Qdiscs += q.Type() + " "
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return s, err
	}
	defer tool.Close()
	if s.Offloads, err = tool.Features(name); err != nil {
		return s, err
	}
	s.Sockets = map[string]int{}
	for _, list := range []string{"udp", "udp6", "packet"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + list)
		if err != nil {
			return s, err
		}
		s.Sockets[list] = strings.Count(string(text), "\n") - 1 // less the heading
	}
	return s, nil
}

func (s state) check(t *testing.T, l *lab.Lab) {
	t.Helper()
	if diff := cmp.Diff(s, stateOf(t, l)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

// descriptors counts this process's sockets and what it holds of eBPF.
func descriptors(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	var sockets, bpf int
	for _, f := range files {
		switch to, _ := os.Readlink(f); {
		case strings.HasPrefix(to, "socket:"):
			sockets++
		case strings.HasPrefix(to, "anon_inode:bpf"):
			bpf++
		}
	}
	return fmt.Sprintf("%d sockets, %d of eBPF", sockets, bpf)
}
