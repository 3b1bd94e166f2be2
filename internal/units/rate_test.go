package units

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// BC-022: M is 10^6, Mi is 2^20, B is bytes, and what was understood is said back.
func TestParseRate(t *testing.T) {
	const u = MicrosPerUnit
	for _, tt := range []struct {
		in   string
		want Rate
		text string // of String
	}{
		{"500M", Rate{Bits, 500e6 * u, 0}, "500M"},
		{"9.4G@l1", Rate{Bits, 9.4e9 * u, L1}, "9.4G@l1"},
		{"10G@L4", Rate{Bits, 10e9 * u, L4}, "10G@l4"},
		{"100k", Rate{Bits, 100e3 * u, 0}, "100k"},
		{"1000k", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1m", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1Mbit", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1mbit", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1Mbps", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1Mbit/s", Rate{Bits, 1e6 * u, 0}, "1M"},
		{"1Mi", Rate{Bits, 1048576 * u, 0}, "1.048576M"},
		{"1Mibit", Rate{Bits, 1048576 * u, 0}, "1.048576M"},
		{"1MB", Rate{Bits, 8e6 * u, 0}, "8M"},
		{"1MB/s", Rate{Bits, 8e6 * u, 0}, "8M"},
		{"1KiB", Rate{Bits, 8192 * u, 0}, "8.192k"},
		{"1.5Mpps", Rate{Packets, 1.5e6 * u, 0}, "1.5Mpps"},
		{"0.5pps", Rate{Packets, u / 2, 0}, "0.5pps"},
		{".5pps", Rate{Packets, u / 2, 0}, "0.5pps"},
		{"95%", Rate{Percent, 95 * u, 0}, "95%"},
		{"99.999999%@l1", Rate{Percent, 99_999_999, L1}, "99.999999%@l1"},
		{"max", Rate{Max, 0, 0}, "max"},
		{"1", Rate{Bits, u, 0}, "1"},
		{"0123", Rate{Bits, 123 * u, 0}, "123"},
		{"0.000001", Rate{Bits, 1, 0}, "0.000001"},
		{"10T", Rate{Bits, 10e12 * u, 0}, "10T"},
		{"9.999999999999999999T", Rate{Bits, 9_999_999_999_999_999_999, 0}, "9.999999999999999999T"},
		{"1.25TB", Rate{Bits, 10e12 * u, 0}, "10T"},
		{"10Gpps", Rate{Packets, 10e9 * u, 0}, "10Gpps"},
	} {
		got, err := ParseRate(tt.in)
		if err != nil {
			t.Errorf("ParseRate(%q): %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("ParseRate(%q) (-want +got):\n%s", tt.in, diff)
		}
		if got.String() != tt.text {
			t.Errorf("ParseRate(%q).String() = %q, want %q", tt.in, got, tt.text)
		}
	}
}

func TestParseRateRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"0":                               "say max",
		"0.0pps":                          "say max",
		"0%":                              "say max",
		"":                                "write 500M",
		"-1":                              "write 500M",
		"-0":                              "write 500M",
		"+5M":                             "write 500M",
		"1e99":                            "write 500M",
		"nan":                             "write 500M",
		"inf":                             "write 500M",
		"Infinity":                        "write 500M",
		"10 M":                            "write 500M",
		" 10M":                            "write 500M",
		"10M\n":                           "write 500M",
		"M":                               "write 500M",
		".":                               "write 500M",
		"1.2.3M":                          "write 500M",
		"1,5M":                            "write 500M",
		"0x10":                            "write 500M",
		"1_000":                           "write 500M",
		"1/3":                             "write 500M",
		"10MM":                            "write 500M",
		"10x":                             "write 500M",
		"5k%":                             "write 500M",
		"10i":                             "write 500M",
		"٣M":                              "write 500M",
		"10.1T":                           "at most 10T",
		"1.3TB":                           "at most 1",
		"11Gpps":                          "at most 10Gpps",
		"101%":                            "at most 100%",
		"0.0000001":                       "fewer decimals",
		"10M@":                            "write l1",
		"10M@l5":                          "write l1",
		"10M@l1@l1":                       "write l1",
		"95%@l2":                          "write 95% or 95%@l1",
		"1Mpps@l2":                        "leave out @l2",
		"max@l1":                          "leave out @l1",
		"maximum":                         "write 500M",
		"@l1":                             "write 500M",
		"1000000000000000000000000000000": "at most 10T",
	} {
		r, err := ParseRate(in)
		if err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", in, r)
			continue
		}
		if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("ParseRate(%q): %q, want one line with %q", in, got, want)
		}
	}
}

func TestRateOfLink(t *testing.T) {
	for _, tt := range []struct {
		rate string
		link uint64
		want string
	}{
		{"95%", 10e9, "9.5G@l1"},
		{"100%", 10e12, "10T@l1"},
		{"33.333333%", 1e9, "333.33333M@l1"},
		{"0.000001%", 10e6, "0.1@l1"},
		{"5M@l2", 0, "5M@l2"},
		{"max", 0, "max"},
	} {
		r, err := ParseRate(tt.rate)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.OfLink(tt.link)
		if err != nil || got.String() != tt.want {
			t.Errorf("%s of %d: %v, %v, want %s", tt.rate, tt.link, got, err, tt.want)
		}
	}
	for _, link := range []uint64{0, 11e12} {
		if got, err := (Rate{Unit: Percent, Micro: 1}).OfLink(link); err == nil {
			t.Errorf("a percentage of %d bit/s: %v, want an error", link, got)
		}
	}
}

// FuzzParseRate holds that what parses is within its limits, prints, and parses
// to itself again.
func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"500M", "9.4G@l1", "1.5Mpps", "95%", "max", "1MiB", "0", "-1", "1e99", "10 M", "0.000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("ParseRate(%q): more than one line: %q", s, err)
			}
			return
		}
		if (r.Micro == 0) != (r.Unit == Max) || r.Unit < Max && r.Micro > rateLimits[r.Unit].whole*MicrosPerUnit {
			t.Errorf("ParseRate(%q) = %+v, outside its limits", s, r)
		}
		again, err := ParseRate(r.String())
		if err != nil || again != r {
			t.Errorf("ParseRate(%q) = %+v prints %q, which parses to %+v, %v", s, r, r, again, err)
		}
	})
}
