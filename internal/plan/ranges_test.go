package plan

import (
	"net/netip"
	"testing"
)

func TestParseAddrs(t *testing.T) {
	for s, want := range map[string]struct {
		last string
		n    int
	}{
		"10.0.0.1":            {"10.0.0.1", 1},
		"10.0.0.255-10.0.1.1": {"10.0.1.1", 3},
		"10.0.0.9/30":         {"10.0.0.11", 4},
		"10.9.0.0/16":         {"10.9.255.255", 65536},
		"::ffff:10.0.0.1":     {"10.0.0.1", 1},
		"fd00::1-fd00::1":     {"fd00::1", 1},
		"fd00::ffff:ffff:ffff:ffff-fd00:0:0:1::1": {"fd00:0:0:1::1", 3},
		"fd00::/112": {"fd00::ffff", 65536},
	} {
		a, err := ParseAddrs(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if last := a.At(a.N - 1).String(); a.N != want.n || last != want.last {
			t.Errorf("%q: %d up to %s, want %d up to %s", s, a.N, last, want.n, want.last)
		}
	}
	for _, s := range []string{
		"", "-", "10.0.0.1-", "10.0.0.2-10.0.0.1", "10.0.0.1-fd00::1", "10.0.0.0-10.1.0.0", "10.0.0.0/15", "fd00::/111", "fd00::-fd01::",
		"fe80::1%eth0", "host", "10.0.0.1-10.0.0.2-10.0.0.3", "10.0.0.0/33",
	} {
		if a, err := ParseAddrs(s); err == nil {
			t.Errorf("%q: taken for %v", s, a)
		}
	}
}

// FuzzRanges holds that what was parsed is parsed again the same.
func FuzzRanges(f *testing.F) {
	for _, s := range []string{"10.0.0.1-10.0.0.9", "fd00::/120", "5000-5010", "7", "sport=1-2,dport=3,vlan=0,dscp=EF", "dscp=cs1", "vlan=4095", ",", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseAddrs(s); err == nil {
			again, err := ParseAddrs(a.String())
			if err != nil || again != a || a.N < 1 || a.N > rangeMost || familyOf(a.At(a.N-1)) != familyOf(a.First) {
				t.Errorf("addresses %q: %v, then %v, %v", s, a, again, err)
			}
		}
		if p, err := ParsePorts(s); err == nil {
			again, err := ParsePorts(p.String())
			if err != nil || again != p || p.First < 1 || p.N < 1 || int(p.First)+p.N > 65536 {
				t.Errorf("ports %q: %v, then %v, %v", s, p, again, err)
			}
		}
		if filter, err := ParseFilter(s); err == nil {
			again, err := ParseFilter(filter.String())
			if err != nil || again.String() != filter.String() || filter == (Filter{}) {
				t.Errorf("filter %q: %v, then %v, %v", s, filter, again, err)
			}
		}
		if p, err := ParsePrefix(s); err == nil && (p != p.Masked() || p.Addr() == (netip.Addr{})) {
			t.Errorf("prefix %q: %v", s, p)
		}
	})
}
