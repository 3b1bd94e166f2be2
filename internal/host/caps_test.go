package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCaps(t *testing.T) {
	s := Caps(1<<NetRaw | 1<<BPF)
	if !s.Has(NetRaw) || s.Has(NetAdmin) {
		t.Errorf("%x has the wrong ones", uint64(s))
	}
	if diff := cmp.Diff([]Capability{NetAdmin, Perfmon}, s.Lacks(NetRaw, NetAdmin, BPF, Perfmon)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for c, want := range map[Capability]string{NetRaw: "CAP_NET_RAW", BPF: "CAP_BPF", 0: "capability 0"} {
		if c.String() != want {
			t.Errorf("%d is %q, want %q", uint8(c), c, want)
		}
	}
}
