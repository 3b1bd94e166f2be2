package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BitUnit chooses the unit in which a rate, or a whole column of rates up to
// maxBps, is printed, and what to divide by: "Mbit/s" and 1e6.
func BitUnit(maxBps float64) (name string, divisor float64) {
	prefix, divisor := decimalPrefix(maxBps)
	return prefix + "bit/s", divisor
}

// PacketUnit does the same for rates in packets per second: "packets/s" and 1,
// "kpps" and 1e3, "Mpps" and 1e6.
func PacketUnit(maxPPS float64) (name string, divisor float64) {
	// Below ten thousand the digits are worth more than the shorter number.
	if maxPPS < 10_000 {
		return "packets/s", 1
	}
	prefix, divisor := decimalPrefix(maxPPS)
	return prefix + "pps", divisor
}

// decimalPrefix is the largest prefix in which v is at least 1.
func decimalPrefix(v float64) (prefix string, divisor float64) {
	switch {
	case v >= 1e12:
		return "T", 1e12
	case v >= 1e9:
		return "G", 1e9
	case v >= 1e6:
		return "M", 1e6
	case v >= 1e3:
		return "k", 1e3
	}
	return "", 1
}

// Decimals is how many places behind the point show v in so many significant
// digits.
func Decimals(v float64, digits int) int {
	before := 1
	for v = math.Abs(v); v >= 10; v /= 10 {
		before++
	}
	return max(digits-before, 0)
}

// FormatBits prints a rate in four significant digits, without trailing zeros:
// "500 Mbit/s", "498.8 Mbit/s".
func FormatBits(bps float64) string {
	bps = round(bps, 4)
	name, divisor := BitUnit(bps)
	return trimmed(bps/divisor) + " " + name
}

// FormatPackets prints a rate in four significant digits, without trailing
// zeros: "6966 packets/s", "81.27 kpps".
func FormatPackets(pps float64) string {
	pps = round(pps, 4)
	name, divisor := PacketUnit(pps)
	return trimmed(pps/divisor) + " " + name
}

// FormatBytes prints an amount of data in decimal units: "512 B", "187.50 MB".
func FormatBytes(n uint64) string {
	prefix, divisor := decimalPrefix(float64(n))
	if divisor == 1 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.2f %sB", float64(n)/divisor, prefix)
}

// FormatSize prints a buffer size in powers of 1024, as ParseSize reads them:
// "208 KiB", "4 MiB", "32.5 KiB".
func FormatSize(n int64) string {
	v, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for v >= 1024 && len(names) > 1 {
		v, names = v/1024, names[1:]
	}
	return trimmed(round(v, 4)) + " " + names[0]
}

// FormatNS prints a time of so many ns with the digits that a clock of a general
// purpose machine is good for: "850 ns", "1.2 µs", "1.9 ms", "2.5 s".
func FormatNS(ns int64) string {
	v := math.Abs(float64(ns))
	switch {
	case v < 1e3:
		return fmt.Sprintf("%d ns", ns)
	case v < 999_950: // what rounds to 1000.0 belongs to the next unit
		return fmt.Sprintf("%.1f µs", float64(ns)/1e3)
	case v < 999_950_000:
		return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.1f s", float64(ns)/1e9)
}

// FormatPercent prints a ratio in percent. What is not 0 never prints as "0 %",
// and what is not 1 never as "100 %": there are three decimals, or as many as
// two significant digits of the distance from both need.
func FormatPercent(ratio float64) string {
	percent := ratio * 100
	distance := min(math.Abs(percent), math.Abs(100-percent))
	decimals := 3
	for scaled := distance * 1e3; scaled > 0 && scaled < 10; scaled *= 10 {
		decimals++
	}
	s := strconv.FormatFloat(percent, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + " %"
}

// FormatPPM prints a relative error in parts per million with its sign,
// "+0.3 ppm", and from one percent on in percent, "-31.2 %".
func FormatPPM(ppm float64) string {
	if math.Abs(ppm) >= 10_000 {
		return fmt.Sprintf("%+.1f %%", ppm/10_000)
	}
	return fmt.Sprintf("%+.1f ppm", math.Round(ppm*10)/10+0) // 0 is never negative
}

// round rounds v to so many significant digits.
func round(v float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		panic(err) // FormatFloat's own output always parses
	}
	return r
}

// trimmed prints v in its shortest exact form.
func trimmed(v float64) string {
	return strconv.FormatFloat(v, 'f', -1, 64)
}
