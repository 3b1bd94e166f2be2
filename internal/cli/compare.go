package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/bench"
	"linerate/gen"
	"linerate/internal/plan"
	"linerate/internal/report"
	"linerate/internal/units"
	"linerate/rx"
)

func newCompare(stdio Stdio) *cobra.Command {
	c := bench.Comparison{Version: version()}
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "compare [HOST[:PORT]]",
		Short: "Kernel path against raw path, side by side, to a host or in a lab on this machine",
		Example: `  linerate compare
  linerate compare 10.0.0.2
  linerate compare --sizes 64 --paths udp,packet --trials 15
  linerate compare --rate 50M --json`,
		Args: exactly(0, 1, "at most one HOST[:PORT], which runs linerate serve"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.Host = args[0]
			}
			if c.Host == "" {
				if err := inLab(cmd, &c); err != nil {
					return err
				}
			} else if !cmd.Flags().Changed("rx") {
				c.RX = auto // what counts in a driver is asked for by name
			}
			return runCompare(cmd.Context(), c, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	add(f, &c.Frames, "sizes", "", "64,512,1518,9018", "LIST", "frame sizes with FCS", parseSizes)
	add(f, &c.Paths, "paths", "", "", "LIST", "transmit paths (default all): "+strings.Join(gen.Names(), ","), parsePaths)
	add(f, &c.Port, "port", "p", "5201", "PORT", "the server's port, unless HOST names one", within(1, 65535))
	add(f, &c.Rate, "rate", "b", "max", "RATE", "what each path is asked for, as for send", units.ParseRate)
	add(f, &c.Layer, "layer", "", "", "LAYER", "which bits a rate counts: l1, l2, l3 or l4 (default l4)", units.ParseLayer)
	add(f, &c.RX, "rx", "", "ebpf", "PATH", "how the receiver counts (default to a HOST auto): "+strings.Join(rx.Names(), ", "), nameOf(rx.Names()))
	add(f, &c.Trials, "trials", "", "7", "N", "trials of each path at each size, interleaved", within(1, 1000))
	add(f, &c.Trial, "trial", "", "500ms", "TIME", "length of one trial", duration(10*time.Millisecond))
	f.BoolVar(&c.NoGSO, "no-gso", false, "no super-frames (UDP GSO): every packet leaves alone")
	addressFlags(f, &c.V4, &c.V6, &c.Iface)
	f.StringVarP(&c.Bind, "bind", "B", "", "source address, or an interface's name")
	out.flags(cmd)
	out.csvFlag(cmd, "the rows of the table")
	return cmd
}

func runCompare(ctx context.Context, c bench.Comparison, out *output) error {
	out.begin()
	c.Progress = out.Progress
	rep, err := bench.Compare(ctx, c)
	if rep == nil {
		return err
	}
	return conclude(ctx, out, rep, err, func() error {
		return report.Compare(out.stdio.Out, rep, out.options)
	}, true)
}

// inLab refuses what says how to reach a host: a lab has one way.
func inLab(cmd *cobra.Command, c *bench.Comparison) error {
	for _, name := range []string{"iface", "bind"} {
		if cmd.Flags().Changed(name) {
			return &plan.UsageError{Flag: name, Msg: "needs a HOST to compare against: a lab has addresses and interfaces of its own"}
		}
	}
	if c.V4 && c.V6 {
		return &plan.UsageError{Flag: "ipv4", Msg: "contradicts --ipv6"}
	}
	return nil
}

// parsePaths parses a list of transmit paths.
func parsePaths(s string) ([]string, error) {
	paths := strings.Split(s, ",")
	for _, p := range paths {
		if !slices.Contains(gen.Names(), p) {
			return nil, fmt.Errorf("%q: want some of %s", p, strings.Join(gen.Names(), ","))
		}
	}
	return paths, nil
}

// parseSizes parses a list of frame sizes.
func parseSizes(s string) ([]int, error) {
	var sizes []int
	for _, word := range strings.Split(s, ",") {
		n, err := within(64, 9018)(word)
		if err != nil {
			return nil, fmt.Errorf("%q: want frame sizes from 64 to 9018, as 64,1518", word)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
