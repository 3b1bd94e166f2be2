package units

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "2.5": 2500 * time.Millisecond, ".5": 500 * time.Millisecond,
		"100ms": 100 * time.Millisecond, "1m30s": 90 * time.Second, "10s": 10 * time.Second, "1.5h": 90 * time.Minute,
		"0.000000001": 1, "8784h": maxDuration, "31622400": maxDuration,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "write seconds", "-1": "write seconds", "-0": "write seconds", "-5s": "write seconds", "+5s": "write seconds",
		"1e99": "write seconds", "nan": "write seconds", "NaN": "write seconds", "inf": "write seconds",
		"10 s": "write seconds", "10x": "write seconds", "1.2.3": "write seconds", "s": "write seconds",
		"1d": "write seconds", "0.0000000001": "finer",
		"8785h": "at most", "31622401": "at most", "99999999999999999999": "at most",
	} {
		got, err := ParseDuration(in)
		checkRefused(t, in, got, err, want)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"10", "2.5", "100ms", "1m30s", "-1", "1e99", "inf", "10 s", "9999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d || d < 0 || d > maxDuration {
			t.Errorf("ParseDuration(%q) = %v, which parses to %v, %v", s, d, again, err)
		}
	})
}
