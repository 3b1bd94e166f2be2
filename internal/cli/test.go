package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/gen"
	"linerate/internal/echo"
	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/session"
	"linerate/internal/units"
	"linerate/rx"
)

const testLong = `Test the way to linerate serve or a stock iperf3 -s or iperf -s, and back.

Both ends are told what to do over a control connection (iperf3's protocol), and
both ends' numbers stand in the report. UDP unless --tcp is given.

With --peer iperf2 the server is iperf -s -u (iperf -s for --tcp), or a group. It
is told what to do by the first bytes, and reports at the end of a UDP flow that
goes forward; its --full-duplex is --bidir.`

const testExamples = `  linerate test 10.0.0.2 --rate 500M
  linerate test 10.0.0.2 --rate max --path packet --frame 9018
  linerate test 10.0.0.2 --tcp -t 20 -R
  linerate test 10.0.0.2 --tcp --rtt
  linerate test 10.0.0.2 --bounce 100 --tcp
  linerate test 10.0.0.2:443 --tcp --connect-only -k 1000
  linerate test 10.0.0.2 --peer iperf2 --rate 500M
  linerate test 239.1.2.3 --peer iperf2 --ttl 4`

func newTest(stdio Stdio) *cobra.Command {
	var r plan.TestRequest
	var o testOptions
	var who login
	var peer string
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:     "test HOST[:PORT]",
		Short:   "Test the way to linerate serve or a stock iperf3 -s or iperf -s, and back",
		Long:    testLong,
		Example: testExamples,
		Args:    exactly(1, 1, "one HOST[:PORT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Host = args[0]
			o.fail.layer = r.Layer
			if cmd.Flags().Changed("rate") && r.ConnectOnly {
				return &plan.UsageError{Flag: "rate", Msg: "has no use with --connect-only, which sends no load"}
			}
			r.Loaded = r.Bounce > 0 && (cmd.Flags().Changed("rate") || r.Isochronous != nil)
			if err := notIsochronous(cmd, &r); err != nil {
				return err
			}
			if r.TCP {
				if err := o.fail.checkTCP(); err != nil {
					return err
				}
				ofTCP(cmd, &r)
			}
			if peer == peerIPerf2 {
				return runTestIPerf2(cmd, r, o, &out)
			}
			return runTest(cmd.Context(), r, o, who, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	add(f, &peer, "peer", "", peerIPerf3, "PROTOCOL", "what the server speaks: iperf3 (linerate serve, too) or iperf2", parsePeer)
	f.BoolVar(&r.TCP, "tcp", false, "TCP over ordinary sockets, in place of UDP")
	f.BoolVarP(&r.Reverse, "reverse", "R", false, "the server sends")
	f.BoolVar(&r.Bidir, "bidir", false, "both send at once")
	add(f, &r.Rate, "rate", "b", "100M", "RATE", "500M, 9.4G@l1, 1.5Mpps, 95% of the link at L1, max; over all flows (default of TCP max)", units.ParseRate)
	isochronousFlag(f, &r.Isochronous)
	add(f, &r.Layer, "layer", "", "", "LAYER", "which bits a rate counts: l1, l2, l3 or l4 (default l4, the payload)", units.ParseLayer)
	add(f, &r.Frame, "frame", "", "", "BYTES", "Ethernet frame with FCS (default the largest that fits the path)", within(64, 65535+18))
	add(f, &r.Payload, "payload", "l", "", "BYTES", "UDP payload, in place of --frame, in fragments where it must be; of TCP a block (default 128K)", parseBlock)
	f.BoolVar(&r.DontFragment, "dont-fragment", false, "refuse a payload that leaves in fragments")
	add(f, &r.IMIX, "imix", "", "", "MIX", "a mix of frame sizes: simple, 7x64,4x594,1x1518, or an RFC 6985 genome", parseMix)
	add(f, &r.Duration, "duration", "t", "", "TIME", "seconds or a Go duration (default 10)", duration(time.Millisecond))
	add(f, &r.Count, "count", "k", "", "N", "send exactly so many packets", atLeastOne(units.ParseCount))
	add(f, &r.Bytes, "bytes", "n", "", "N", "send so many bytes of payload; K and M are 1024", atLeastOne(units.ParseSize))
	add(f, &r.Omit, "omit", "O", "0", "TIME", "leave out so many whole seconds at the start", parseOmit)
	add(f, &r.Path, "path", "", "auto", "PATH", "how frames leave: auto, "+strings.Join(gen.Names(), ", "), nameOf(gen.Names()))
	add(f, &r.RX, "rx", "", "auto", "PATH", "how frames are counted: auto, "+strings.Join(rx.Names(), ", "), nameOf(rx.Names()))
	add(f, &r.Flows, "flows", "P", "1", "N", "parallel flows, one source port each", within(1, iperf3.MaxStreams))
	add(f, &r.Burst, "burst", "", "", "N", "most packets back to back (default 1 below 100 kpps)", within(1, 1024))
	threadFlags(f, &r.Threads, &r.CPUs, &r.Realtime)
	add(f, &r.Queue, "queue", "", "0", "N", "queue of the interface (path afxdp; of several threads the first's)", within(0, 1023))
	f.BoolVar(&r.NoGSO, "no-gso", false, "no super-frames (UDP GSO): every packet leaves alone")
	add(f, &r.Port, "port", "p", "5201", "PORT", "the server's port, unless HOST names one; of iperf2 5001", within(1, 65535))
	add(f, &r.Window, "window", "w", "4M", "BYTES", "socket buffers at both ends; K and M are 1024 (default of TCP the kernel's)", parseWindow)
	tcpFlags(f, &r)
	add(f, &r.PatternName, "pattern", "", "ramp", "PATTERN", "payload bytes: ramp, zero or random", parsePatternName)
	f.BoolVar(&r.Histogram, "histogram", false, "show and report how delay is distributed, and round trips")
	f.BoolVar(&r.Verify, "verify", false, "check the payload bytes and count corrupt ones")
	add(f, &r.Bounce, "bounce", "", "", "BYTES", "send a request, wait for an answer as large, and so on: in place of a load, or beside that of --rate or --isochronous", within(1, iperf3.MaxBlockTCP))
	f.BoolVar(&r.ConnectOnly, "connect-only", false, "time TCP handshakes with whatever listens there: as many as --count (default 100), no data")
	add(f, &r.RTT, "rtt", "", "", "N", "measure round trips beside the load: N probes a second (100 if no N is given)", within(1, echo.MostRate))
	f.Lookup("rtt").NoOptDefVal = "100"
	addressFlags(f, &r.V4, &r.V6, &r.Iface)
	f.StringVarP(&r.Bind, "bind", "B", "", "source address, or an interface's name")
	f.StringVar(&r.ControlBind, "control-bind", "", "source address of the control connection")
	add(f, &r.SrcMAC, "src-mac", "", "", "MAC", "source MAC (raw paths; default the interface's)", parseSourceMAC)
	add(f, &r.DstMAC, "dst-mac", "", "", "MAC", "next hop's MAC (raw paths; default from the neighbour table)", parseMAC)
	add(f, &r.VLAN, "vlan", "", "", "ID", "802.1Q tag of the data (raw paths), which the server counts by --rx packet, ring, afxdp or ebpf", plan.ParseVLAN)
	add(f, &r.TOS, "dscp", "", "", "DSCP", "0..63, 0x2e, EF, AF41, CS5", plan.ParseDSCP)
	add(f, &r.TTL, "ttl", "", "", "N", "TTL or hop limit (default 64)", within(1, 255))
	add(f, &r.ConnectPatience, "connect-timeout", "", "5s", "TIME", "how long the server may take to answer", duration(time.Millisecond))
	f.BoolVar(&r.Extra.GetServerOutput, "get-server-output", false, "show the server's own report as well")
	who.flags(f)
	o.fail.flags(f)
	intervalFlag(f, &o.interval)
	out.flags(cmd)
	out.streamFlag(cmd)
	out.csvFlag(cmd, "the intervals (with --interval 0 the whole)")
	out.verboseFlag(cmd)
	return cmd
}

// ofTCP gives TCP its own defaults.
func ofTCP(cmd *cobra.Command, r *plan.TestRequest) {
	if !cmd.Flags().Changed("rate") {
		r.Rate = units.Rate{Unit: units.Max}
	}
	if !cmd.Flags().Changed("window") {
		r.Window = 0
	}
	r.BlockLen, r.Payload = r.Payload, 0
}

// testOptions are what this end does with a test.
type testOptions struct {
	interval time.Duration
	fail     thresholds
}

func runTest(ctx context.Context, r plan.TestRequest, o testOptions, who login, out *output) error {
	var err error
	if r.Pattern, err = probe.ParsePattern(r.PatternName); err != nil {
		return &plan.UsageError{Flag: "pattern", Msg: err.Error()}
	}
	if err := who.apply(&r, out.stdio); err != nil {
		return err
	}
	p, err := plan.ResolveTest(ctx, r)
	if err != nil {
		return err
	}
	p.Interval = o.interval
	out.begin()
	run := session.Test
	switch {
	case r.ConnectOnly:
		run = session.Connect
	case r.Bounce > 0 && !r.Loaded:
		run = session.Bounce
	}
	rep, err := run(ctx, p, version(), out)
	return concludeTest(ctx, out, rep, err, o.fail, true)
}

// parseBlock parses a payload: bytes, in which K and M are 1024.
func parseBlock(s string) (int, error) {
	n, err := units.ParseSize(s)
	if err == nil && (n < 1 || n > iperf3.MaxBlockTCP) {
		err = fmt.Errorf("want 1 to 1M bytes")
	}
	return int(n), err
}

// parseOmit parses the seconds that are left out, whole ones.
func parseOmit(s string) (time.Duration, error) {
	d, err := units.ParseDuration(s)
	if err == nil && (d < 0 || d > 600*time.Second || d%time.Second != 0) {
		err = fmt.Errorf("want whole seconds, at most 600")
	}
	return d, err
}

// parsePace parses a rate in bits and returns it in bytes per second.
func parsePace(s string) (uint64, error) {
	r, err := units.ParseRate(s)
	if err == nil && (r.Unit != units.Bits || r.Layer != 0 && r.Layer != units.L4 || r.Micro < 8*units.MicrosPerUnit) {
		err = fmt.Errorf("want bits of payload per second, as 500M")
	}
	return r.Micro / units.MicrosPerUnit / 8, err
}

// parsePatternName parses the name of a pattern that both ends know.
func parsePatternName(s string) (string, error) {
	if err := plan.PatternOfPeer(s); err != nil {
		return "", fmt.Errorf("a file is known to one end alone")
	}
	_, err := probe.ParsePattern(s)
	return s, err
}
