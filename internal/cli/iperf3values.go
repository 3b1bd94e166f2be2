package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"linerate/internal/units"
)

// iperf3Flag registers a flag with a parser; def is its default, "" for none.
func iperf3Flag[T any](f *pflag.FlagSet, to *T, name, short, def string, parse func(string) (T, error)) {
	add(f, to, name, short, def, "", "", parse)
}

func iperf3Port(s string) (int, error) {
	n, err := within(1, 65535)(s)
	if err != nil {
		err = refuse("port number must be between 1 and 65535 inclusive")
	}
	return n, err
}

// iperf3Seconds parses a decimal number of seconds.
func iperf3Seconds(s string) (time.Duration, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x <= math.MaxInt32) {
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	return time.Duration(x * float64(time.Second)), nil
}

// wholeSeconds parses seconds of a range; outside is what iperf3 says beyond it.
func wholeSeconds(lo, hi int64, outside string) func(string) (time.Duration, error) {
	return wholeNumber(lo, hi, time.Second, outside)
}

// milliseconds parses milliseconds of a range of times.
func milliseconds(lo, hi time.Duration, outside string) func(string) (time.Duration, error) {
	return wholeNumber(lo.Milliseconds(), hi.Milliseconds(), time.Millisecond, outside)
}

func wholeNumber(lo, hi int64, unit time.Duration, outside string) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return 0, fmt.Errorf("%q is not a whole number", s)
		case err != nil || n < lo || n > hi:
			return 0, refuse("%s", outside)
		}
		return time.Duration(n) * unit, nil
	}
}

// sizeTo parses bytes, with K, M and G of 1024, up to hi.
func sizeTo(hi int64, outside string) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := units.ParseSize(s)
		if err == nil && n > hi {
			err = refuse("%s", outside)
		}
		return int(min(n, hi)), err
	}
}
