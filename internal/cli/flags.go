package cli

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"linerate/internal/plan"
	"linerate/internal/units"
)

// A flagValue is a flag with a parser of its own: what it accepts is checked
// where it is parsed, and pflag's error names the flag.
type flagValue[T any] struct {
	to    *T
	parse func(string) (T, error)
	text  string
	kind  string
}

func (v *flagValue[T]) Set(s string) error {
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.to, v.text = x, s
	return nil
}

func (v *flagValue[T]) String() string { return v.text }
func (v *flagValue[T]) Type() string   { return v.kind }

// add registers a flag with a parser; def is its default as a user would type it,
// "" for none (then *to keeps its zero value).
func add[T any](f *pflag.FlagSet, to *T, name, short, def, kind, usage string, parse func(string) (T, error)) {
	v := &flagValue[T]{to: to, parse: parse, kind: kind}
	if def != "" {
		if err := v.Set(def); err != nil {
			panic(fmt.Sprintf("default of --%s: %v", name, err))
		}
	}
	f.VarP(v, name, short, usage)
}

// within parses an integer of a range.
func within(lo, hi int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < lo || n > hi {
			return 0, fmt.Errorf("want a whole number from %d to %d", lo, hi)
		}
		return n, nil
	}
}

// duration parses seconds or a Go duration of at least least.
func duration(least time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := units.ParseDuration(s)
		if err == nil && d < least {
			err = fmt.Errorf("want at least %v", least)
		}
		return d, err
	}
}

// atLeastOne refuses a count of nothing.
func atLeastOne[T int64 | uint64](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := parse(s)
		if err == nil && n < 1 {
			err = fmt.Errorf("want at least 1")
		}
		return n, err
	}
}

// parseThreads parses a number of workers, or auto.
func parseThreads(s string) (int, error) {
	if s == auto {
		return plan.AutoThreads, nil
	}
	n, err := within(1, 1024)(s)
	if err != nil {
		err = fmt.Errorf("want %s, or a whole number from 1 to 1024", auto)
	}
	return n, err
}

// parseCPUs parses a list of processors as taskset(1) has it: 0,2-5.
func parseCPUs(s string) ([]int, error) {
	var cpus []int
	for _, word := range strings.Split(s, ",") {
		first, last, isRange := strings.Cut(word, "-")
		from, err := within(0, 1023)(first)
		to := from
		if err == nil && isRange {
			to, err = within(from, 1023)(last)
		}
		if err != nil {
			return nil, fmt.Errorf("want processors from 0 to 1023, as 0,2-5")
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func parseMAC(s string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 || bytes.Equal(mac, make([]byte, 6)) {
		return nil, fmt.Errorf("want six bytes in hex, not all 0, as 02:00:00:00:00:01")
	}
	return mac, nil
}

// parseSourceMAC parses the MAC address of one station.
func parseSourceMAC(s string) (net.HardwareAddr, error) {
	mac, err := parseMAC(s)
	if err == nil && mac[0]&1 != 0 {
		return nil, fmt.Errorf("%s is a group's address: want one station's, as 02:00:00:00:00:01", mac)
	}
	return mac, err
}

// parseRatio parses a loss ratio: 0.001 or 0.1%.
func parseRatio(s string) (*float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return nil, fmt.Errorf("want a ratio from 0 to 1, as 0.001 or 0.1%%")
	}
	return &x, nil
}
