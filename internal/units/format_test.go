package units

import (
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{FormatBits(0), "0 bit/s"},
		{FormatBits(0.5), "0.5 bit/s"},
		{FormatBits(500e6), "500 Mbit/s"},
		{FormatBits(498_812_345), "498.8 Mbit/s"},
		{FormatBits(999_960_000), "1 Gbit/s"},
		{FormatBits(9.4e9), "9.4 Gbit/s"},
		{FormatBits(10e12), "10 Tbit/s"},
		{FormatPackets(0.5), "0.5 packets/s"},
		{FormatPackets(6966.1167), "6966 packets/s"},
		{FormatPackets(81274.3), "81.27 kpps"},
		{FormatPackets(14880952.38), "14.88 Mpps"},
		{FormatBytes(0), "0 B"},
		{FormatBytes(999), "999 B"},
		{FormatBytes(1500), "1.50 kB"},
		{FormatBytes(187_496_856), "187.50 MB"},
		{FormatSize(0), "0 B"},
		{FormatSize(208 << 10), "208 KiB"},
		{FormatSize(4 << 20), "4 MiB"},
		{FormatSize(33280), "32.5 KiB"},
		{FormatSize(5 << 50), "5120 TiB"},
		{FormatNS(850), "850 ns"},
		{FormatNS(-1200), "-1.2 µs"},
		{FormatNS(143_600), "143.6 µs"},
		{FormatNS(999_949), "999.9 µs"},
		{FormatNS(999_950), "1.0 ms"},
		{FormatNS(1_900_000), "1.9 ms"},
		{FormatNS(999_950_000), "1.0 s"},
		{FormatPercent(0), "0 %"},
		{FormatPercent(1), "100 %"},
		{FormatPercent(0.25), "25 %"},
		{FormatPercent(18.0 / 20898), "0.086 %"},
		{FormatPercent(2482.0 / 1016394), "0.244 %"},
		{FormatPercent(1e-9), "0.0000001 %"},
		{FormatPercent(1.26e-9), "0.00000013 %"},
		{FormatPercent(1 - 1e-9), "99.9999999 %"},
		{FormatPercent(1.5), "150 %"},
		{FormatPPM(0.31), "+0.3 ppm"},
		{FormatPPM(-12.34), "-12.3 ppm"},
		{FormatPPM(-0.01), "+0.0 ppm"},
		{FormatPPM(-312000), "-31.2 %"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// Nothing between none and all prints as none or as all.
func TestFormatPercentNeverRoundsAway(t *testing.T) {
	for n := uint64(2); n < 1<<48; n *= 3 {
		for _, lost := range []uint64{1, n / 2, n - 1} {
			ratio := float64(lost) / float64(n)
			got := FormatPercent(ratio)
			if lost > 0 && lost < n && (got == "100 %" || strings.Trim(got, "0. %") == "") {
				t.Errorf("%d of %d prints as %q", lost, n, got)
			}
		}
	}
}

func TestUnits(t *testing.T) {
	if name, divisor := BitUnit(503.68e6); name != "Mbit/s" || divisor != 1e6 {
		t.Errorf("BitUnit: %q, %g", name, divisor)
	}
	if name, divisor := PacketUnit(1.5e6); name != "Mpps" || divisor != 1e6 {
		t.Errorf("PacketUnit: %q, %g", name, divisor)
	}
	for _, tt := range []struct {
		v    float64
		want int
	}{{0.5, 3}, {1, 3}, {9.99, 3}, {10, 2}, {498.8, 1}, {1234, 0}, {123456, 0}} {
		if got := Decimals(tt.v, 4); got != tt.want {
			t.Errorf("Decimals(%g, 4) = %d, want %d", tt.v, got, tt.want)
		}
	}
}
