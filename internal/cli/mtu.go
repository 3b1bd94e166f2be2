package cli

import (
	"context"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"linerate/bench"
	"linerate/internal/plan"
	"linerate/internal/pmtu"
	"linerate/internal/report"
	"linerate/internal/units"
)

func newMTU(stdio Stdio) *cobra.Command {
	var (
		r     plan.MTURequest
		peer  bench.Peer
		loads bench.Loads

		reflect bool
	)
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "mtu HOST",
		Short: "The largest packet that arrives whole, each way",
		Long: `The largest IP packet that arrives whole at HOST and comes back whole, found by
ICMP echo with fragments forbidden (DF): HOST needs no program for it. Each size
that nothing answers is tried six times. It needs CAP_NET_RAW. Where linerate recv
ADDR --reflect runs at HOST, --reflect tells a black hole on the way there from one
on the way back.

With --rate, what is lost of frames of several sizes at that rate: a link may pass
a few jumbo frames and drop them under load. For that HOST runs linerate serve.`,
		Example: `  linerate mtu 10.0.0.2
  linerate mtu 10.0.0.2 --rate 1G --sizes 1518,4096,9018
  linerate mtu fd00::2 --reflect
  linerate mtu fe80::1%eth0 --json`,
		Args: exactly(1, 1, "one HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Host, peer.Host = args[0], args[0]
			r.V4, r.V6, r.Iface, r.Bind = peer.V4, peer.V6, peer.Iface, peer.Bind
			return runMTU(cmd.Context(), r, reflect, &peer, loads, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&reflect, "reflect", false, "find the way there by probes that linerate recv ADDR --reflect sends back from --port")
	add(f, &loads.Rate, "rate", "b", "", "RATE", "try the sizes at this rate, too: 500M, 9.4G@l1, 1.5Mpps, 95% of the link at L1, max", units.ParseRate)
	add(f, &loads.Frames, "sizes", "", "1518,4096,9018", "LIST", "frame sizes with FCS, for --rate; what does not pass whole is left out", parseSizes)
	add(f, &loads.Trial, "trial", "", "2s", "TIME", "how long each size is sent, for --rate", duration(100*time.Millisecond))
	peerFlags(f, &peer)
	out.flags(cmd)
	out.csvFlag(cmd, "the result")
	return cmd
}

func runMTU(ctx context.Context, r plan.MTURequest, reflect bool, peer *bench.Peer, loads bench.Loads, out *output) error {
	to, err := plan.ResolveReach(ctx, r)
	if err != nil {
		return err
	}
	echo, err := pmtu.Open(to.Addr, r.Iface)
	if err != nil {
		return plan.OpenError(err)
	}
	defer echo.Close()
	var reflections bench.Prober
	if reflect {
		probes, err := pmtu.OpenReflections(netip.AddrPortFrom(to.Addr, uint16(peer.Port)), r.Iface)
		if err != nil {
			return plan.OpenError(err)
		}
		defer probes.Close()
		reflections = probes
	}
	out.begin()
	c := bench.MTU{Prober: echo, Reflections: reflections, Peer: to.Addr.String(), IPv6: to.Addr.Is6(), Iface: to.Iface, Local: to.MTU, Version: version(), Progress: out.Progress}
	rep, err := c.Measure(ctx)
	if err == nil && ctx.Err() == nil && loads.Rate != (units.Rate{}) {
		loads.Run, loads.Progress = peer.Run, out.Progress
		err = loads.Loss(ctx, rep)
	}
	return conclude(ctx, out, rep, err, func() error { return report.MTU(out.stdio.Out, rep, out.options) }, true)
}
