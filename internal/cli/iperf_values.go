package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"linerate/internal/plan"
)

// An iperfRate is what -b says: one of the two, both 0 for none.
type iperfRate struct {
	bps uint64 // bits of payload per second
	pps uint64 // datagrams per second
}

// iperfNumber parses a number with iperf 2's suffixes: k, m and g are powers of
// 1000, K, M and G of 1024.
func iperfNumber(s string) (float64, error) {
	digits, factor := s, 1.0
	if s != "" {
		if power := strings.IndexByte("kmg", s[len(s)-1]|0x20); power >= 0 {
			base := 1000.0
			if s[len(s)-1] < 'a' {
				base = 1024
			}
			digits, factor = s[:len(s)-1], math.Pow(base, float64(power+1))
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(v >= 0) || v*factor >= 1<<53 {
		return 0, fmt.Errorf("want a number such as 1000, 1.5m or 64K (k is 1000, K is 1024)")
	}
	return v * factor, nil
}

func parseIPerfRate(s string) (iperfRate, error) {
	number, packets := strings.CutSuffix(s, "pps")
	v, err := iperfNumber(number)
	switch {
	case err != nil && strings.Contains(s, ","):
		return iperfRate{}, fmt.Errorf("linerate's iperf has no rate with a deviation")
	case err != nil:
		return iperfRate{}, err
	case packets:
		return iperfRate{pps: uint64(v)}, nil
	}
	return iperfRate{bps: uint64(v)}, nil
}

func parseIPerfSize(s string) (int, error) {
	v, err := iperfNumber(s)
	if err == nil && (v < 1 || v > math.MaxInt32/2) {
		err = fmt.Errorf("want 1 byte to 1G")
	}
	return int(v), err
}

func parseIPerfBytes(s string) (uint64, error) {
	v, err := iperfNumber(s)
	if err == nil && v < 1 {
		err = fmt.Errorf("want at least 1 byte")
	}
	return uint64(v), err
}

func parseIPerfSeconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	const most = 1e9
	if err != nil || !(v >= 0 && v <= most) {
		return 0, fmt.Errorf("want seconds, such as 10 or 0.5")
	}
	return time.Duration(math.Round(v * 1e9)), nil
}

func parseIPerfUnit(s string) (byte, error) {
	if len(s) != 1 {
		return 0, fmt.Errorf("want one letter of a b k m g A B K M G")
	}
	return s[0], nil
}

func parseIPerfStyle(s string) (bool, error) {
	if !strings.EqualFold(s, "c") {
		return false, fmt.Errorf("want C")
	}
	return true, nil
}

// parseIPerfTOS parses the octet of the IP header: unlike a DSCP, a number is
// not shifted.
func parseIPerfTOS(s string) (byte, error) {
	if n, err := strconv.ParseUint(s, 0, 8); err == nil {
		return byte(n), nil
	}
	tos, err := plan.ParseDSCP(s)
	if err != nil {
		err = fmt.Errorf("want a number from 0 to 255, or a name such as ef, cs1 or af11")
	}
	return tos, err
}
