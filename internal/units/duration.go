package units

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxDuration keeps any test within a year, and every time within 64 bits of ns.
const maxDuration = 366 * 24 * time.Hour

// ParseDuration parses seconds (10, 2.5) or a Go duration (100ms, 1m30s), from 0
// to 366 days.
func ParseDuration(s string) (time.Duration, error) {
	n, rest, ok := number(s)
	if ok && rest == "" {
		ns, err := whole(n, int64(time.Second), uint64(maxDuration))
		switch {
		case errors.Is(err, errTooLarge):
			return 0, tooLong(s)
		case errors.Is(err, errTooFine):
			return 0, fmt.Errorf("%q is finer than a nanosecond; write fewer decimals", s)
		}
		return time.Duration(ns), nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil || strings.ContainsAny(s, "+-"):
		return 0, fmt.Errorf("%q is not a duration; write seconds such as 10 or 2.5, or 100ms, 1m30s, 2h", s)
	case d > maxDuration:
		return 0, tooLong(s)
	}
	return d, nil
}

func tooLong(s string) error {
	return fmt.Errorf("%q is too long; write at most 8784h (366 days)", s)
}
