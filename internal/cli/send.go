package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/gen"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/session"
	"linerate/internal/units"
)

func newSend(stdio Stdio) *cobra.Command {
	var r plan.TestRequest
	var walk ranges
	out := output{stdio: stdio}
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "send HOST[:PORT]",
		Short: "Send UDP one way at an exact rate, or TCP; nothing need answer",
		Long:  "Send UDP one way at an exact rate, or TCP; nothing need answer.\n\nPaths by which frames leave:\n" + transmitPaths(),
		Example: `  linerate send 10.0.0.2 --rate 500M
  linerate send 10.0.0.2 --rate 1.5Mpps --frame 64 --count 1000000 --path packet
  linerate send fe80::1%eth0 --rate 95% --frame 9018`,
		Args: exactly(0, 1, "one HOST[:PORT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := walk.apply(cmd, &r, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("rate") && (r.Ramp != nil || r.Profile != nil) {
				return &plan.UsageError{Flag: "rate", Msg: "contradicts --ramp and --profile: give one of them"}
			}
			if err := notIsochronous(cmd, &r); err != nil {
				return err
			}
			if r.TCP {
				if err := onlyUDP(cmd, "format"); err != nil {
					return err
				}
				ofTCP(cmd, &r)
				return runSendTCP(cmd.Context(), r, interval, &out)
			}
			if err := onlyTCP(cmd, "mss", "congestion", "pace"); err != nil {
				return err
			}
			return runSend(cmd.Context(), r.SendRequest, interval, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&r.TCP, "tcp", false, "TCP over ordinary sockets, in place of UDP")
	add(f, &r.Rate, "rate", "b", "100M", "RATE", "500M, 9.4G@l1, 1.5Mpps, 95% of the link at L1, max; over all flows (default of TCP max)", units.ParseRate)
	add(f, &r.Ramp, "ramp", "", "", "FROM:TO:STEP", "rates from one to another, in equal parts of --duration, or 1 s each", plan.ParseRamp)
	add(f, &r.Profile, "profile", "", "", "FILE", "CSV of time,rate: from when on which rate holds; 0 is silence, and as the last line the end", profileFile)
	isochronousFlag(f, &r.Isochronous)
	add(f, &r.Layer, "layer", "", "", "LAYER", "which bits a rate counts: l1, l2, l3 or l4 (default l4, the UDP payload)", units.ParseLayer)
	add(f, &r.Frame, "frame", "", "", "BYTES", "Ethernet frame with FCS (default the largest that fits the path)", within(64, 65535+18))
	add(f, &r.Payload, "payload", "l", "", "BYTES", "UDP payload, in place of --frame; of TCP a block (default 128K)", parseBlock)
	add(f, &r.IMIX, "imix", "", "", "MIX", "a mix of frame sizes: simple, 7x64,4x594,1x1518, or an RFC 6985 genome", parseMix)
	add(f, &r.Duration, "duration", "t", "", "TIME", "seconds or a Go duration (default 10)", duration(time.Millisecond))
	add(f, &r.Count, "count", "k", "", "N", "send exactly so many packets", atLeastOne(units.ParseCount))
	add(f, &r.Bytes, "bytes", "n", "", "N", "send so many bytes of payload; K and M are 1024", atLeastOne(units.ParseSize))
	add(f, &r.Path, "path", "", "auto", "PATH", "how frames leave: auto, "+strings.Join(gen.Names(), ", "), nameOf(gen.Names()))
	add(f, &r.Flows, "flows", "P", "1", "N", "parallel flows, one source port each (default as many as the longest range of --src and the like has)", within(1, 65536))
	add(f, &r.Burst, "burst", "", "", "N", "packets planned back to back (default 1, and more above 100 kpps only where that holds the rate)", within(1, 1024))
	f.BoolVar(&r.Smooth, "smooth", false, "one packet at a time, whatever the rate (default up to 100 kpps)")
	threadFlags(f, &r.Threads, &r.CPUs, &r.Realtime)
	add(f, &r.Queue, "queue", "", "0", "N", "queue of the interface (path afxdp; of several threads the first's)", within(0, 1023))
	f.BoolVar(&r.NoGSO, "no-gso", false, "no super-frames (UDP GSO): every packet leaves alone")
	add(f, &r.Port, "port", "p", "5201", "PORT", "destination port, unless HOST names one", within(1, 65535))
	add(f, &r.Window, "window", "w", "4M", "BYTES", "socket buffer; K and M are 1024", parseWindow)
	tcpFlags(f, &r)
	add(f, &r.Format, "format", "", "probe", "FORMAT", "payload header: probe, iperf2 or iperf3", probe.ParseFormat)
	add(f, &r.Pattern, "pattern", "", "ramp", "PATTERN", "payload bytes: ramp, zero, random or file:PATH", probe.ParsePattern)
	addressFlags(f, &r.V4, &r.V6, &r.Iface)
	f.StringVarP(&r.Bind, "bind", "B", "", "source address, or an interface's name")
	walk.flags(f, &r.SendRequest)
	add(f, &r.SrcMAC, "src-mac", "", "", "MAC", "source MAC (raw paths; default the interface's)", parseSourceMAC)
	add(f, &r.DstMAC, "dst-mac", "", "", "MAC", "next hop's MAC (raw paths; default from the neighbour table)", parseMAC)
	add(f, &r.VLAN, "vlan", "", "", "ID", "802.1Q tag (raw paths)", plan.ParseVLAN)
	add(f, &r.TOS, "dscp", "", "", "DSCP", "0..63, 0x2e, EF, AF41, CS5", plan.ParseDSCP)
	add(f, &r.TTL, "ttl", "", "", "N", "TTL or hop limit (default 64; 1 for multicast)", within(1, 255))
	intervalFlag(f, &interval)
	out.flags(cmd)
	out.streamFlag(cmd)
	out.csvFlag(cmd, "the intervals (with --interval 0 the whole)")
	out.verboseFlag(cmd)
	return cmd
}

// isochronousFlag is that of bursts, in place of a rate.
func isochronousFlag(f *pflag.FlagSet, to **plan.Isochronous) {
	add(f, to, "isochronous", "", "", "FPS:MEAN,STDDEV", "so many bursts a second, as frames of a video, of a log-normal size that comes to MEAN and STDDEV in bit/s, as 60:10M,1M", plan.ParseIsochronous)
}

// notIsochronous refuses what such bursts contradict, where flags alone tell.
func notIsochronous(cmd *cobra.Command, r *plan.TestRequest) error {
	switch {
	case r.Isochronous == nil:
		return nil
	case cmd.Flags().Changed("rate"):
		return &plan.UsageError{Flag: "rate", Msg: "contradicts --isochronous: give one of them"}
	case r.ConnectOnly:
		return &plan.UsageError{Flag: "isochronous", Msg: "has no use with --connect-only, which sends no load"}
	case r.TCP:
		return &plan.UsageError{Flag: "isochronous", Msg: "contradicts --tcp: the kernel makes the packets of TCP"}
	}
	return nil
}

// tcpFlags are those of TCP's sockets.
func tcpFlags(f *pflag.FlagSet, r *plan.TestRequest) {
	add(f, &r.MSS, "mss", "M", "", "BYTES", "TCP maximum segment size", within(88, 32767))
	f.StringVarP(&r.Congestion, "congestion", "C", "", "TCP congestion control, such as cubic or bbr")
	add(f, &r.Pace, "pace", "", "", "RATE", "most that the kernel lets a TCP stream send (SO_MAX_PACING_RATE), as 500M", parsePace)
}

// onlyTCP refuses flags that mean nothing to UDP.
func onlyTCP(cmd *cobra.Command, names ...string) error {
	return onlyFor("--tcp", cmd, names)
}

// onlyUDP refuses flags that mean nothing to TCP.
func onlyUDP(cmd *cobra.Command, names ...string) error {
	return onlyFor("UDP, which --tcp is not", cmd, names)
}

func onlyFor(what string, cmd *cobra.Command, names []string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return &plan.UsageError{Flag: name, Msg: "is for " + what}
		}
	}
	return nil
}

func runSendTCP(ctx context.Context, r plan.TestRequest, interval time.Duration, out *output) error {
	p, err := plan.ResolveStreams(ctx, r)
	if err != nil {
		return err
	}
	p.Interval = interval
	out.begin()
	rep, err := session.SendTCP(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, thresholds{}, true)
}

// transmitPaths describes the rows of the table.
func transmitPaths() string {
	var b strings.Builder
	for _, p := range gen.Paths {
		fmt.Fprintf(&b, "  %-7s %s\n%9s needs %s\n", p.Name, p.Doc, "", p.Needs)
	}
	return b.String()
}

// profileFile reads the file that --profile names.
func profileFile(path string) (plan.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := plan.ParseProfile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func runSend(ctx context.Context, r plan.SendRequest, interval time.Duration, out *output) error {
	p, err := plan.ResolveSend(ctx, r)
	if err != nil {
		return err
	}
	p.Interval = interval
	out.begin()
	rep, err := session.Send(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, thresholds{}, true)
}
