package units

import (
	"errors"
	"fmt"
	"math"
)

// ParseSize parses a number of bytes: digits, then K, M, G or T in either case
// and with or without an i, all powers of 1024 as in iperf3's -n, -l and -w, and
// an optional B: 1472, 128K, 4M, 1.5GiB. It accepts 0.
func ParseSize(s string) (int64, error) {
	n, rest, ok := number(s)
	factor, unit := prefix(rest, 1024)
	if !ok || unit != "" && unit != "B" {
		return 0, fmt.Errorf("%q is not a size; write bytes such as 1472, 128K or 4M (K and M are 1024)", s)
	}
	bytes, err := whole(n, factor, math.MaxInt64)
	switch {
	case errors.Is(err, errTooLarge):
		return 0, fmt.Errorf("%q is too large a size; write at most %d", s, int64(math.MaxInt64))
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number of bytes; write such as 1472, 128K or 4M (K and M are 1024)", s)
	}
	return int64(bytes), nil
}

// ParseCount parses a number of packets: digits, then an optional decimal k, M,
// G or T: 1000, 250k, 1.5M. It accepts 0.
func ParseCount(s string) (uint64, error) {
	n, rest, ok := number(s)
	factor, unit := prefix(rest, 1000)
	if !ok || unit != "" {
		return 0, fmt.Errorf("%q is not a count; write a whole number such as 1000, 250k or 1.5M", s)
	}
	count, err := whole(n, factor, math.MaxUint64)
	switch {
	case errors.Is(err, errTooLarge):
		return 0, fmt.Errorf("%q is too large a count; write at most %d", s, uint64(math.MaxUint64))
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number; write such as 1000, 250k or 1.5M", s)
	}
	return count, nil
}
