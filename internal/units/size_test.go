package units

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1472": 1472, "1K": 1024, "1k": 1024, "128K": 128 << 10, "4M": 4 << 20, "4m": 4 << 20, "4Mi": 4 << 20,
		"4MiB": 4 << 20, "208KiB": 208 << 10, "1.5G": 3 << 29, "2T": 2 << 40, "10B": 10, "0.5K": 512,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "write bytes", "-1": "write bytes", "-0": "write bytes", "nan": "write bytes", "inf": "write bytes",
		"1e99": "write bytes", "10 M": "write bytes", "10x": "write bytes", "10b": "write bytes", "M": "write bytes",
		"1.5": "whole number", "0.3K": "whole number", "9223372036854775808": "at most", "99999999T": "at most",
	} {
		got, err := ParseSize(in)
		checkRefused(t, in, got, err, want)
	}
}

func TestParseCount(t *testing.T) {
	for in, want := range map[string]uint64{
		"0": 0, "1": 1, "65537": 65537, "250k": 250_000, "1.5M": 1_500_000, "1G": 1e9, "1Ki": 1024,
		"18446744073709551615": math.MaxUint64,
	} {
		if got, err := ParseCount(in); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "whole number", "-1": "whole number", "-0": "whole number", "nan": "whole number", "inf": "whole number",
		"1e99": "whole number", "10 k": "whole number", "10x": "whole number", "1.5": "whole number",
		"18446744073709551616": "at most",
	} {
		got, err := ParseCount(in)
		checkRefused(t, in, got, err, want)
	}
}

// checkRefused holds that parsing failed with one line that has want in it.
func checkRefused(t *testing.T, in string, got any, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("%q parsed to %v, want an error", in, got)
		return
	}
	if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: %q, want one line with %q", in, err, want)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"1472", "128K", "1.5GiB", "-1", "1e99", "0.3K", "99999999T"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			return
		}
		if again, err := ParseSize(strconv.FormatInt(n, 10)); err != nil || again != n || n < 0 {
			t.Errorf("ParseSize(%q) = %d, which parses to %d, %v", s, n, again, err)
		}
	})
}

func FuzzParseCount(f *testing.F) {
	for _, seed := range []string{"1000", "250k", "1.5M", "-1", "1e99", "1.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseCount(s)
		if err != nil {
			return
		}
		if again, err := ParseCount(strconv.FormatUint(n, 10)); err != nil || again != n {
			t.Errorf("ParseCount(%q) = %d, which parses to %d, %v", s, n, again, err)
		}
	})
}
