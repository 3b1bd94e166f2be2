package cli

import (
	"slices"
	"testing"

	"linerate/internal/plan"
)

// FuzzFlags holds the parsers of this package to what their flags allow.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"", "1/1000", "1/1", "0.1%", "101%", "nan%", "0.5", "-1", "02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "4095", "64,1518", "1e99", "4M", "-1K", "auto", "0,2-5", "7-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parsePortion(s); err == nil && (p.every == 0) == (p.ratio == 0) {
			t.Errorf("portion %q: %+v is both or neither", s, p)
		} else if err == nil && p.every == 0 && !(p.ratio > 0 && p.ratio <= 1) {
			t.Errorf("portion %q: %v", s, p.ratio)
		}
		if r, err := parseRatio(s); err == nil && !(*r >= 0 && *r <= 1) {
			t.Errorf("ratio %q: %v", s, *r)
		}
		if m, err := parseSourceMAC(s); err == nil && (len(m) != 6 || m[0]&1 != 0) {
			t.Errorf("source MAC %q: %v", s, m)
		}
		if v, err := plan.ParseVLAN(s); err == nil && *v > 4094 {
			t.Errorf("VLAN %q: %d", s, *v)
		}
		if n, err := parseWindow(s); err == nil && n < 0 {
			t.Errorf("window %q: %d", s, n)
		}
		if n, err := parseThreads(s); err == nil && n < 1 && s != auto {
			t.Errorf("threads %q: %d", s, n)
		}
		if cpus, err := parseCPUs(s); err == nil && (len(cpus) == 0 || slices.Min(cpus) < 0 || slices.Max(cpus) > 1023) {
			t.Errorf("processors %q: %v", s, cpus)
		}
		if sizes, err := parseSizes(s); err == nil {
			for _, n := range sizes {
				if n < 64 || n > 9018 {
					t.Errorf("sizes %q: %v", s, sizes)
				}
			}
		}
	})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "one": "one", "one\n": "one", "one\n\n two  words\n": "one; two words",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
