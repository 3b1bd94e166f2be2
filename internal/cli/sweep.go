package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"linerate/bench"
	"linerate/internal/report"
)

func newSweep(stdio Stdio) *cobra.Command {
	var (
		t trials
		c bench.Sweep
	)
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "sweep HOST[:PORT]",
		Short: "Loss against offered rate, a curve for each frame size",
		Long: `Loss against offered rate to HOST, where linerate serve runs: for each frame size
from the highest rate down in steps, until two in a row lose nothing (RFC 2544,
section 26.3). It loads the path beyond its limit: not for a network that others
use (RFC 6815).`,
		Example: `  linerate sweep 10.0.0.2 --rate 1G@l1
  linerate sweep 10.0.0.2 --sizes 64,1518,9018 --step 5 --trials 3 --csv`,
		Args: exactly(1, 1, "one HOST[:PORT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.peer.Host = args[0]
			c.Frames, c.Most, c.Layer = t.all(), t.most, t.layer
			return runSweep(cmd.Context(), c, &t, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	t.flags(f, "64,512,1518")
	add(f, &c.Percent, "step", "", "10", "PERCENT", "of the highest rate, from one rate to the next", within(1, 10))
	add(f, &c.Repeats, "trials", "", "1", "N", "trials at each rate", within(1, 1000))
	add(f, &c.Trial, "trial", "", "1s", "TIME", "length of one trial (RFC 2544: 60s)", duration(100*time.Millisecond))
	out.flags(cmd)
	out.csvFlag(cmd, "the rows of the table")
	return cmd
}

func runSweep(ctx context.Context, c bench.Sweep, t *trials, out *output) error {
	way, err := t.way(ctx)
	if err != nil {
		return err
	}
	c.Run, c.LineBps, c.IPv6, c.Version = t.peer.Run, way.SpeedBps, way.IPv6, version()
	out.begin()
	c.Progress, c.Started = out.Progress, out.expect
	rep, err := c.Sweep(ctx)
	return conclude(ctx, out, rep, err, func() error { return report.Sweep(out.stdio.Out, rep, out.options) }, true)
}
