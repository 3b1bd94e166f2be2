package report

import (
	"fmt"
	"strings"
)

// iperf2Prefixes are what stands before Byte and bit.
var iperf2Prefixes = [...]string{"", "K", "M", "G", "T", "P"}

// iperf2Amount prints an amount of bytes in the unit of a letter of -f: bits or,
// for a capital, bytes, in steps of 1000 or, for bytes, of 1024. The letters a
// and A choose the prefix, as does any other.
func iperf2Amount(bytes float64, letter byte) string {
	v, step, unit := bytes*8, 1000.0, "bit"
	if letter >= 'A' && letter <= 'Z' {
		v, step, unit = bytes, 1024, "Byte"
	}
	power := strings.IndexByte("bkmg", letter|0x20)
	if power < 0 {
		for power = 0; power < len(iperf2Prefixes)-1 && v >= step; power++ {
			v /= step
		}
	} else {
		for range power {
			v /= step
		}
	}
	return iperf2Number(v) + " " + iperf2Prefixes[power] + unit
}

// iperf2Number prints three significant digits where four columns allow.
func iperf2Number(v float64) string {
	switch {
	case v < 0.9995:
		return fmt.Sprintf("%4.3f", v)
	case v < 9.995:
		return fmt.Sprintf("%4.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%4.1f", v)
	}
	return fmt.Sprintf("%4.0f", v)
}

// transfer prints an amount of data, whose unit is bytes whatever the case of
// the letter, and rate an amount a second.
func (o *IPerf2Options) transfer(bytes uint64) string {
	letter := byte('A')
	if o.Unit != 0 {
		letter = o.Unit &^ 0x20
	}
	return iperf2Amount(float64(bytes), letter) + "s"
}

func (o *IPerf2Options) rate(bytes uint64, seconds float64) string {
	letter := byte('a')
	if o.Unit != 0 {
		letter = o.Unit
	}
	if seconds <= 0 {
		return iperf2Amount(0, letter) + "s/sec"
	}
	return iperf2Amount(float64(bytes)/seconds, letter) + "s/sec"
}

// iperf2Percent prints a ratio in percent as C's printf does, which has a
// negative NaN for nothing of nothing.
func iperf2Percent(part, whole uint64) string {
	if whole == 0 {
		return "-nan%"
	}
	return fmt.Sprintf("%.2g%%", 100*float64(part)/float64(whole))
}
