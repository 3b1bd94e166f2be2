package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/iperf2"
)

// iperfVersion answers iperf -v in the stock program's words: it names the
// release whose arguments and output these are.
const iperfVersion = "iperf version 2.1.8 (linerate %s)\n"

const iperfUsage = `Usage: iperf [-s|-c host] [options]
Try ` + "`iperf --help'" + ` for more information.
`

// newIPerf takes the arguments of iperf 2.1.8 and prints its output. Like the
// stock program it ends with status 0 when a test fails, and with 1 when its
// arguments contradict each other.
func newIPerf(stdio Stdio) *cobra.Command {
	return &cobra.Command{
		Use:                "iperf [-s|-c HOST] [OPTIONS]",
		Short:              "Take iperf 2's own arguments and print its own output",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := parseIPerf(args)
			switch {
			case errors.Is(err, pflag.ErrHelp):
				fmt.Fprint(stdio.Err, iperfUsage, iperfFlags(&iperfArgs{}).FlagUsages())
				return &exitError{status: exitFailed}
			case err != nil:
				fmt.Fprintln(stdio.Err, err)
				return &exitError{status: exitFailed}
			case a.version:
				fmt.Fprintf(stdio.Err, iperfVersion, version())
				return &exitError{status: exitFailed}
			case !a.server && a.client == "":
				fmt.Fprint(stdio.Err, iperfUsage)
				return nil
			}
			for _, w := range a.warnings {
				fmt.Fprintln(stdio.Err, w)
			}
			return runIPerf(cmd.Context(), a, stdio)
		},
	}
}

// iperfArgs are the stock arguments. What a test asks of its peer is in ask.
type iperfArgs struct {
	client   string // -c
	server   bool   // -s; wins over -c
	udp      bool
	port     int
	ask      iperf2.Settings
	rate     iperfRate // -b
	interval time.Duration
	window   int
	once     bool // -1
	bind     string
	source   string // -H
	ttl      int
	v6       bool
	noDelay  bool
	mss      int
	control  string // -Z

	unit                   byte
	csv, enhanced, showMSS bool
	exclude                string
	version                bool

	reverse, fullDuplex, dual, tradeoff, tripTimes, compatible bool

	limited  bool // -t or -n was given
	warnings []string
}

// iperfFlags are the options that linerate has of iperf's.
func iperfFlags(a *iperfArgs) *pflag.FlagSet {
	f := pflag.NewFlagSet("iperf", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVarP(&a.client, "client", "c", "", "run in client mode, connecting to `HOST`")
	f.BoolVarP(&a.server, "server", "s", false, "run in server mode")
	f.BoolVarP(&a.udp, "udp", "u", false, "use UDP rather than TCP")
	add(f, &a.port, "port", "p", "5001", "PORT", "port to listen on or to connect to", within(1, 65535))
	add(f, &a.rate, "bandwidth", "b", "", "RATE", "bit/s or, with pps, datagrams a second, of each flow", parseIPerfRate)
	add(f, &a.ask.Size, "len", "l", "", "BYTES", "bytes of a datagram (1470, or 1450 with -V) or of a write (128K)", parseIPerfSize)
	add(f, &a.ask.Duration, "time", "t", "", "SECONDS", "how long to send, or to serve (10, a server for ever)", parseIPerfSeconds)
	add(f, &a.ask.Bytes, "num", "n", "", "BYTES", "how much to send, in place of -t", parseIPerfBytes)
	add(f, &a.interval, "interval", "i", "", "SECONDS", "between two reports", parseIPerfSeconds)
	add(f, &a.ask.Flows, "parallel", "P", "", "N", "flows of a client; connections after which a server ends", within(0, 1000))
	add(f, &a.window, "window", "w", "", "BYTES", "socket buffer", parseIPerfSize)
	add(f, &a.unit, "format", "f", "", "LETTER", "unit of the output: a k m g for bits, A K M G for bytes", parseIPerfUnit)
	f.BoolVarP(&a.enhanced, "enhanced", "e", false, "more columns, over UDP")
	add(f, &a.csv, "reportstyle", "y", "", "C", "rows of values separated by commas", parseIPerfStyle)
	f.StringVarP(&a.exclude, "reportexclude", "x", "", "leave out reports: C D M S V")
	f.BoolVarP(&a.reverse, "reverse", "R", false, "the server sends")
	f.BoolVar(&a.fullDuplex, "full-duplex", false, "both send, on one flow")
	f.BoolVarP(&a.dual, "dualtest", "d", false, "both send at the same time, on two flows")
	f.BoolVarP(&a.tradeoff, "tradeoff", "r", false, "both send, one after the other")
	add(f, &a.ask.Port, "listenport", "L", "", "PORT", "where the server shall send to with -d and -r", within(1, 65535))
	f.BoolVar(&a.tripTimes, "trip-times", false, "announce times by a clock that both ends share")
	f.BoolVar(&a.ask.NoFIN, "no-udp-fin", false, "no server report")
	f.BoolVarP(&a.ask.PeerDetect, "peer-detect", "X", false, "ask the server for its version")
	f.BoolVarP(&a.compatible, "compatibility", "C", false, "send no header")
	f.StringVarP(&a.bind, "bind", "B", "", "local `HOST[:PORT][%DEV]`, or the group to join")
	f.StringVarP(&a.source, "ssm-host", "H", "", "the only `SOURCE` of a group to join")
	add(f, &a.ttl, "ttl", "T", "", "N", "time to live (1 for a group)", within(1, 255))
	add(f, &a.ask.TOS, "tos", "S", "", "TOS", "octet of the IP header: a number, or ef, cs1, af11 ...", parseIPerfTOS)
	f.BoolVarP(&a.v6, "ipv6_domain", "V", false, "IPv6")
	f.BoolVarP(&a.noDelay, "nodelay", "N", false, "no Nagle")
	add(f, &a.mss, "mss", "M", "", "BYTES", "largest TCP segment", within(88, 32767))
	f.BoolVarP(&a.showMSS, "print_mss", "m", false, "print the largest TCP segment")
	f.StringVarP(&a.control, "tcp-congestion", "Z", "", "congestion control `NAME`")
	f.BoolVarP(&a.once, "singleclient", "1", false, "serve one client at a time")
	f.BoolVarP(&a.version, "version", "v", false, "print the version and quit")
	f.BoolP("single_udp", "U", false, "as it is here always: one thread for UDP")
	for name, short := range iperfRefused {
		f.VarPF(&refusal{name: name}, name, short, "").Hidden = true
		f.Lookup(name).NoOptDefVal = " "
	}
	return f
}

// iperfRefused are the options of 2.1.8 that linerate lacks, and their letters.
var iperfRefused = map[string]string{
	"bounceback": "", "bounceback-congest": "", "bounceback-hold": "", "bounceback-period": "",
	"bounceback-no-quickack": "", "burst-period": "", "burst-size": "", "connect-only": "", "connect-retries": "",
	"daemon": "D", "fileinput": "F", "fq-rate": "", "hide-ips": "", "histograms": "", "incr-dstip": "",
	"incr-dstport": "", "incr-srcip": "", "incr-srcport": "", "ipg": "", "isochronous": "", "l2checks": "",
	"local-only": "", "near-congestion": "", "no-connect-sync": "", "output": "o", "permit-key": "",
	"permit-key-timeout": "", "realtime": "z", "stdin": "I", "sum-dstip": "", "sum-only": "", "tap-dev": "", "tcp-quickack": "",
	"tcp-rx-window-clamp": "", "tcp-write-prefetch": "", "tcp-write-times": "", "txdelay-time": "",
	"txstart-time": "", "udp-histogram": "",
}

// A refusal is an option that linerate lacks.
type refusal struct{ name string }

func (r *refusal) Set(string) error { return fmt.Errorf("linerate's iperf has no --%s", r.name) }
func (*refusal) String() string     { return "" }
func (*refusal) Type() string       { return "" }

// parseIPerf parses the stock arguments and refuses what contradicts itself, in
// the stock program's words where it has some.
func parseIPerf(args []string) (*iperfArgs, error) {
	a := &iperfArgs{}
	f := iperfFlags(a)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("iperf: %w", err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("iperf: extra argument %q", f.Arg(0))
	}
	a.limited = f.Changed("time") || f.Changed("num")
	if f.Changed("num") {
		a.ask.Duration = 0
	}
	if a.server {
		a.client = ""
	}
	a.ask.Mode = a.mode()
	if err := a.check(f); err != nil {
		return nil, err
	}
	a.complete()
	return a, nil
}

var errEnhancedTCP = errors.New("iperf: linerate's iperf has -e over UDP alone")

// Defaults of the stock program.
const (
	iperfDatagram4 = 1470 // bytes
	iperfDatagram6 = 1450
	iperfWrite     = 128 << 10
	iperfUDPRate   = 1 << 20 // bit/s
	iperfSeconds   = 10
)
