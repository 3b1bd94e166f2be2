package plan

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/pcap"
)

func TestParseSwaps(t *testing.T) {
	a, b, c := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("fd77::9")
	for text, want := range map[string][]pcap.Swap{
		"10.0.0.9":                          {{New: b}},
		"192.0.2.1=10.0.0.9":                {{Old: a, New: b}},
		"::ffff:192.0.2.1=10.0.0.9,fd77::9": {{Old: a, New: b}, {New: c}},
	} {
		got, err := ParseSwaps(text)
		if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", text, err, d)
		}
	}
	for _, text := range []string{"", "host", "10.0.0.9=", "=10.0.0.9", "10.0.0.9=fd77::9", "fe80::1%eth0", "10.0.0.9,"} {
		if got, err := ParseSwaps(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func FuzzParseSwaps(f *testing.F) {
	for _, seed := range []string{"10.0.0.9", "192.0.2.1=10.0.0.9,fd77::9", "=", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		swaps, err := ParseSwaps(text)
		if err == nil && len(swaps) == 0 {
			t.Errorf("%q: neither swaps nor an error", text)
		}
		for _, s := range swaps {
			if !s.New.IsValid() || s.Old.IsValid() && s.Old.Is4() != s.New.Is4() {
				t.Errorf("%q: %+v", text, s)
			}
		}
	})
}
