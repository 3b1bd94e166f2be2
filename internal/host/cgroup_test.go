package host

import (
	"testing"
	"time"
)

func TestParseCPUStat(t *testing.T) {
	for _, tt := range []struct {
		text    string
		periods uint64
		stood   time.Duration
		known   bool
	}{
		{"usage_usec 5\nnr_periods 90\nnr_throttled 7\nthrottled_usec 2500\n", 7, 2500 * time.Microsecond, true},
		{"nr_periods 90\nnr_throttled 7\nthrottled_time 2500\n", 7, 2500, true},
		{"usage_usec 5\nuser_usec 5\n", 0, 0, false},
		{"", 0, 0, false},
		{"nr_throttled -1\n", 0, 0, false},
	} {
		if p, s, k := parseCPUStat(tt.text); p != tt.periods || s != tt.stood || k != tt.known {
			t.Errorf("%q: %d periods, %v, %v", tt.text, p, s, k)
		}
	}
}

func TestParseQuota(t *testing.T) {
	for _, tt := range []struct {
		quota, period string
		cores         float64
		limited       bool
	}{
		{"50000", "100000", 0.5, true}, {"max", "100000", 0, false}, {"-1", "100000", 0, false}, {"1", "0", 0, false},
	} {
		if c, l := parseQuota(tt.quota, tt.period); c != tt.cores || l != tt.limited {
			t.Errorf("%s of %s: %v, %v", tt.quota, tt.period, c, l)
		}
	}
}

func FuzzParseCPUStat(f *testing.F) {
	f.Add("nr_throttled 7\nthrottled_usec 2500\n")
	f.Fuzz(func(t *testing.T, text string) {
		if periods, _, known := parseCPUStat(text); !known && periods != 0 {
			t.Errorf("%d periods of an unknown group in %q", periods, text)
		}
	})
}
