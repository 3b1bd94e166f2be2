package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

func addressFlags(f *pflag.FlagSet, v4, v6 *bool, iface *string) {
	f.BoolVarP(v4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(v6, "ipv6", "6", false, "IPv6 only")
	f.StringVar(iface, "iface", "", "network interface (default from the routing table)")
}

// threadFlags are the flags of the threads that send or count.
func threadFlags(f *pflag.FlagSet, threads *int, cpus *[]int, realtime *bool) {
	add(f, threads, "threads", "", "1", "N", "threads, the flows spread over them; auto for one a processor", parseThreads)
	add(f, cpus, "cpu", "", "", "LIST", "processors to keep the threads to, in turn, as 0,2-5", parseCPUs)
	f.BoolVar(realtime, "realtime", false, "run the threads before all ordinary ones (SCHED_FIFO; needs CAP_SYS_NICE)")
}

func intervalFlag(f *pflag.FlagSet, interval *time.Duration) {
	add(f, interval, "interval", "i", "1s", "TIME", "report every; 0 for no interval lines", func(s string) (time.Duration, error) {
		d, err := units.ParseDuration(s)
		if err == nil && d != 0 && d < time.Millisecond {
			err = fmt.Errorf("want 0, or at least 1ms")
		}
		return d, err
	})
}

// parseWindow parses a socket buffer's size.
func parseWindow(s string) (int, error) {
	n, err := units.ParseSize(s)
	if err == nil && (n < 0 || n > math.MaxInt32/2) {
		err = fmt.Errorf("want less than 1G bytes")
	}
	return int(n), err
}

func parseMix(s string) (plan.Mix, error) {
	sizes, err := units.ParseIMIX(s)
	return plan.Mix{Name: s, Frames: sizes}, err
}

// nameOf parses the name of a path: auto or a row of a table.
func nameOf(paths []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if s != auto && !slices.Contains(paths, s) {
			return "", fmt.Errorf("want %s or %s", auto, strings.Join(paths, ", "))
		}
		return s, nil
	}
}

// auto asks for the best path that can run.
const auto = "auto"

// concludeTest ends a command that ran one test: it judges the report by thresholds,
// and prints its summary. Without a report the test did not begin, for err.
func concludeTest(ctx context.Context, out *output, rep *result.Report, err error, fail thresholds, planned bool) error {
	if rep == nil {
		return err
	}
	if err == nil {
		if err = fail.judge(rep); err != nil {
			rep.Error = err.Error()
		}
	}
	return conclude(ctx, out, rep, err, func() error { return out.text.Summary(rep) }, planned)
}

// conclude prints the report of a command and says how the program ends. A planned
// end that a signal forestalled is status 130; without one a signal is the end.
func conclude(ctx context.Context, out *output, rep *result.Report, err error, text func() error, planned bool) error {
	rep.Error = oneLine(rep.Error)
	if printErr := out.finish(rep, text); printErr != nil && err == nil {
		return printErr
	}
	if err != nil {
		return &exitError{exitStatus(err), err}
	}
	if ctx.Err() != nil && planned {
		return &exitError{status: exitInterrupted}
	}
	return nil
}
