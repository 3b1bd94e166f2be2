package cli

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/session"
	"linerate/internal/units"
	"linerate/rx"
)

func newRecv(stdio Stdio) *cobra.Command {
	var r plan.RecvRequest
	var fail thresholds
	out := output{stdio: stdio}
	var interval time.Duration
	var overTCP bool
	var streams int
	cmd := &cobra.Command{
		Use:   "recv [ADDR:PORT]",
		Short: "Count what arrives: loss, gaps, reordering, duplicates, jitter, delay, rate",
		Long: `Count what arrives: loss, gaps, reordering, duplicates, jitter, delay, rate.

It needs no answer from the sender. It ends when the sender says that it is done,
with --duration, with --count, on Ctrl-C, or when a sender has been silent.

Paths by which frames are counted:
` + receivePaths(),
		Example: `  linerate recv
  linerate recv 10.0.0.2:5201 -t 10 --rx ring --json
  linerate recv --format iperf2 --port 5001`,
		Args: exactly(0, 1, "at most one ADDR:PORT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.Addr = args[0]
			}
			if overTCP {
				if err := onlyUDP(cmd, "rx", "count", "silence", "drain", "from", "filter", "format", "histogram",
					"threads", "cpu", "realtime", "reflect"); err != nil {
					return err
				}
				if !cmd.Flags().Changed("window") {
					r.Window = 0
				}
				return runRecvTCP(cmd.Context(), r, streams, interval, fail, &out)
			}
			if err := onlyTCP(cmd, "flows"); err != nil {
				return err
			}
			if err := checkFilter(cmd, &r); err != nil {
				return err
			}
			return runRecv(cmd.Context(), r, interval, fail, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&overTCP, "tcp", false, "take TCP streams, in place of UDP")
	add(f, &streams, "flows", "P", "1", "N", "TCP streams to wait for", within(1, 1024))
	add(f, &r.RX, "rx", "", "auto", "PATH", "how frames are counted: auto, "+strings.Join(rx.Names(), ", "), nameOf(rx.Names()))
	add(f, &r.Duration, "duration", "t", "", "TIME", "stop after so long (default none)", duration(time.Millisecond))
	add(f, &r.Count, "count", "k", "", "N", "stop after so many packets", atLeastOne(units.ParseCount))
	add(f, &r.Silence, "silence", "", "5s", "TIME", "how long a sender may be silent before it is taken for gone", duration(time.Millisecond))
	add(f, &r.Drain, "drain", "", "2s", "TIME", "how long to wait for stragglers once the sender is done (RFC 2544)", duration(time.Millisecond))
	add(f, &r.Port, "port", "p", "5201", "PORT", "port, unless ADDR:PORT names one", within(1, 65535))
	add(f, &r.From, "from", "", "", "CIDR", "count only what comes from there: 10.0.0.0/8, fd00::/8 or an address", plan.ParsePrefix)
	add(f, &r.Filter, "filter", "", "", "EXPR", "count only what has all of: sport=5000-5010,dport=6000-6010,vlan=5,dscp=EF; dport in place of --port", plan.ParseFilter)
	add(f, &r.Window, "window", "w", "4M", "BYTES", "socket buffer; K and M are 1024", parseWindow)
	add(f, &r.Format, "format", "", "probe", "FORMAT", "payload header: probe, iperf2 or iperf3", probe.ParseFormat)
	f.BoolVar(&r.Histogram, "histogram", false, "show and report how delay is distributed")
	threadFlags(f, &r.Threads, &r.CPUs, &r.Realtime)
	f.BoolVar(&r.Verify, "verify", false, "check the payload bytes and count corrupt ones")
	add(f, &r.Reflect, "reflect", "", "", "N", "send back the probes whose number is a multiple of N (each if no N is given), at most 10000 a second", within(1, math.MaxInt32))
	f.Lookup("reflect").NoOptDefVal = "1"
	add(f, &r.Pattern, "pattern", "", "ramp", "PATTERN", "payload bytes that --verify expects", probe.ParsePattern)
	addressFlags(f, &r.V4, &r.V6, &r.Iface)
	fail.flags(f)
	intervalFlag(f, &interval)
	out.flags(cmd)
	out.streamFlag(cmd)
	out.csvFlag(cmd, "the intervals (with --interval 0 the whole)")
	out.verboseFlag(cmd)
	return cmd
}

// receivePaths describes the rows of the table.
func receivePaths() string {
	var b strings.Builder
	for _, p := range rx.Paths {
		fmt.Fprintf(&b, "  %-7s %s\n%9s needs %s\n", p.Name, p.Doc, "", p.Needs)
	}
	return b.String()
}

func runRecv(ctx context.Context, r plan.RecvRequest, interval time.Duration, fail thresholds, out *output) error {
	p, err := plan.ResolveReceive(ctx, r)
	if err != nil {
		return err
	}
	p.Interval = interval
	out.begin()
	rep, err := session.Receive(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, fail, r.Duration > 0 || r.Count > 0)
}

func runRecvTCP(ctx context.Context, r plan.RecvRequest, streams int, interval time.Duration, fail thresholds, out *output) error {
	if err := fail.checkTCP(); err != nil {
		return err
	}
	p, err := plan.ResolveStreamReceiver(ctx, r, streams)
	if err != nil {
		return err
	}
	p.Interval = interval
	out.begin()
	rep, err := session.ReceiveTCP(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, fail, r.Duration > 0)
}
