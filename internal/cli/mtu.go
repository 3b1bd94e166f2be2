package cli

import (
	"context"

	"github.com/spf13/cobra"

	"linerate/bench"
	"linerate/internal/plan"
	"linerate/internal/pmtu"
	"linerate/internal/report"
)

func newMTU(stdio Stdio) *cobra.Command {
	var r plan.MTURequest
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "mtu HOST",
		Short: "The largest packet that arrives whole, each way",
		Long: `The largest IP packet that arrives whole at HOST and comes back whole, found by
ICMP echo with fragments forbidden (DF): HOST needs no program for it. Each size
that nothing answers is tried six times. It needs CAP_NET_RAW.`,
		Example: `  linerate mtu 10.0.0.2
  linerate mtu fe80::1%eth0 --json`,
		Args: exactly(1, 1, "one HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Host = args[0]
			return runMTU(cmd.Context(), r, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	addressFlags(f, &r.V4, &r.V6, &r.Iface)
	out.flags(cmd)
	out.csvFlag(cmd)
	return cmd
}

func runMTU(ctx context.Context, r plan.MTURequest, out *output) error {
	to, err := plan.ResolveReach(ctx, r)
	if err != nil {
		return err
	}
	echo, err := pmtu.Open(to.Addr, r.Iface)
	if err != nil {
		return plan.OpenError(err)
	}
	defer echo.Close()
	out.begin()
	c := bench.MTU{Prober: echo, Peer: to.Addr.String(), IPv6: to.Addr.Is6(), Iface: to.Iface, Local: to.MTU, Version: version(), Progress: out.Progress}
	rep, err := c.Measure(ctx)
	return conclude(ctx, out, rep, err, func() error { return report.MTU(out.stdio.Out, rep, out.options) }, true)
}
