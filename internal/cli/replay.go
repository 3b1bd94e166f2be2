package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/plan"
	"linerate/internal/session"
	"linerate/internal/units"
)

func newReplay(stdio Stdio) *cobra.Command {
	var r plan.ReplayRequest
	out := output{stdio: stdio}
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "replay FILE.pcap[ng] --iface IF",
		Short: "Send a capture at its own pace, at a multiple, or at an exact rate",
		Long: `Send a capture of Ethernet frames (pcap or pcapng) at its own pace, at a multiple
of it, or at an exact rate. All of it is read and checked before the first frame.

A frame that the capture cut short (snaplen) or that does not fit the MTU is
refused with its number. Checksums of IPv4, UDP, TCP, ICMP and ICMPv6 are made
right. It needs CAP_NET_RAW.`,
		Example: `  linerate replay call.pcapng --iface eth0
  linerate replay call.pcapng --iface eth0 --speed 10 --loop 0
  linerate replay dns.pcap --iface eth0 --rate 50kpps --dst-mac 02:00:00:00:00:01 --dst 192.0.2.53=10.0.0.53`,
		Args: exactly(1, 1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.File = args[0]
			return runReplay(cmd.Context(), r, interval, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&r.Iface, "iface", "", "network interface by which the frames leave")
	add(f, &r.Speed, "speed", "", "", "X", "multiple of the capture's own pace, as 2 or 0.5 (default 1)", parseSpeed)
	add(f, &r.Rate, "rate", "b", "", "RATE", "in place of its pace: 500M, 9.4G@l1, 1.5Mpps, 95% of the link at L1, max", units.ParseRate)
	add(f, &r.Layer, "layer", "", "", "LAYER", "which bits a rate counts: l1, l2, l3 or l4 (default l4, UDP and TCP payload)", units.ParseLayer)
	add(f, &r.Loops, "loop", "", "1", "N", "send the capture so many times; 0 until it is stopped", units.ParseCount)
	add(f, &r.Rewrite.SrcMAC, "src-mac", "", "", "MAC", "source MAC of every frame (default as captured)", parseSourceMAC)
	add(f, &r.Rewrite.DstMAC, "dst-mac", "", "", "MAC", "destination MAC of every frame (default as captured)", parseMAC)
	add(f, &r.Rewrite.VLAN, "vlan", "", "", "ID", "802.1Q tag of every frame: put in, or its id changed", plan.ParseVLAN)
	add(f, &r.Rewrite.Src, "src", "", "", "ADDR", "source address of every IP packet, or OLD=NEW,… for some", plan.ParseSwaps)
	add(f, &r.Rewrite.Dst, "dst", "", "", "ADDR", "destination address of every IP packet, or OLD=NEW,… for some", plan.ParseSwaps)
	f.BoolVar(&r.Pad, "pad", false, "fill with zeros what the capture cut off, and send it")
	add(f, &r.Window, "window", "w", "4M", "BYTES", "socket buffer; K and M are 1024", parseWindow)
	intervalFlag(f, &interval)
	out.flags(cmd)
	out.streamFlag(cmd)
	out.csvFlag(cmd, "the intervals (with --interval 0 the whole)")
	return cmd
}

// parseSpeed parses a decimal multiple to a millionth.
func parseSpeed(s string) (uint64, error) {
	rate, err := units.ParseRate(s + "pps")
	const most = 1_000_000
	if err != nil || rate.Unit != units.Packets || rate.Micro < 1 || rate.Micro > most*units.MicrosPerUnit {
		return 0, fmt.Errorf("want a number from 0.000001 to %d, as 2 or 0.5", most)
	}
	return rate.Micro, nil
}

func runReplay(ctx context.Context, r plan.ReplayRequest, interval time.Duration, out *output) error {
	p, err := plan.ResolveReplay(r)
	if err != nil {
		return err
	}
	p.Interval = interval
	out.begin()
	rep, err := session.Replay(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, thresholds{}, r.Loops != 0)
}
