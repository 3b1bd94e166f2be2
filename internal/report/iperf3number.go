package report

import (
	"fmt"
	"strconv"
)

// iperf3Bytes prints a number of bytes in steps of 1024 in four places.
func iperf3Bytes(n float64) string {
	return scaled(n, 1024, "Bytes", 0, true)
}

// iperf3Rate prints a rate. The format is that of -f: k, m, g or t for bits in
// steps of 1000, K, M, G or T for bytes in steps of 1024, 0 for bits in the step
// that fits.
func iperf3Rate(bps float64, format byte) string {
	switch format {
	case 'K', 'M', 'G', 'T':
		return scaled(bps/8, 1024, "Bytes", step(format), false) + "/sec"
	case 'k', 'm', 'g', 't':
		return scaled(bps, 1000, "bits", step(format), false) + "/sec"
	}
	return scaled(bps, 1000, "bits", 0, true) + "/sec"
}

// prefixes are the steps of units.
const prefixes = " KMGT"

// step is the place of a format's letter in the prefixes.
func step(format byte) int {
	for i := range prefixes {
		if prefixes[i] == format&^0x20 {
			return i
		}
	}
	return 0
}

// scaled prints n, divided by base to the power of at, or by that power that fits,
// with three digits.
func scaled(n, base float64, unit string, at int, fit bool) string {
	for range at {
		n /= base
	}
	for fit && n >= base && at < len(prefixes)-1 {
		n, at = n/base, at+1
	}
	decimals := 0
	switch {
	case n < 9.995:
		decimals = 2
	case n < 99.95:
		decimals = 1
	}
	prefix := ""
	if at > 0 {
		prefix = prefixes[at : at+1]
	}
	return fmt.Sprintf("%4.*f %s%s", decimals, n, prefix, unit)
}

// iperf3Percent prints two significant digits, and never an exponent: iperf3
// itself prints 1e+02 from 99.5 on.
func iperf3Percent(p float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(p, 'g', 2, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
