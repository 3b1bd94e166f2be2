package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"linerate/internal/plan"
	"linerate/internal/units"
)

// What only one end of iperf3 takes.
var (
	iperf3ClientOnly = []string{
		"udp", "connect-timeout", "bitrate", "pacing-timer", "fq-rate", "time", "bytes", "blockcount", "length", "cport",
		"parallel", "reverse", "bidir", "window", "congestion", "set-mss", "no-delay", "tos", "dscp", "zerocopy", "omit",
		"title", "extra-data", "get-server-output", "udp-counters-64bit", "dont-fragment", "repeating-payload", "snd-timeout", "username",
		"rsa-public-key-path",
	}
	iperf3ServerOnly = []string{
		"daemon", "one-off", "server-bitrate-limit", "server-max-duration", "idle-timeout", "rsa-private-key-path",
		"authorized-users-path", "time-skew-threshold",
	}
)

// iperf3Lacking is what iperf3 has and we have not.
var iperf3Lacking = []struct {
	name, short string
	bare        bool // takes no value
}{
	{"file", "F", false}, {"debug", "d", true},
	{"sctp", "", true}, {"xbind", "X", false}, {"nstreams", "", false}, {"flowlabel", "L", false},
	{"mptcp", "m", true}, {"skip-rx-copy", "", true}, {"gsro", "", true},
	{"rcv-timeout", "", false},
}

// iperf3Flags are the flags of iperf3's grammar, which fill in a.
func iperf3Flags(a *iperf3Args) *pflag.FlagSet {
	f := pflag.NewFlagSet("iperf3", pflag.ContinueOnError)
	f.Usage = func() {}
	f.BoolVarP(&a.help, "help", "h", false, "")
	f.BoolVarP(&a.version, "version", "v", false, "")
	f.StringVarP(&a.client, "client", "c", "", "")
	f.BoolVarP(&a.server, "server", "s", false, "")
	a.addBoth(f)
	a.addClient(f)
	a.addServer(f)
	for _, lacking := range iperf3Lacking {
		name := lacking.name
		flag := f.VarPF(&flagValue[bool]{to: new(bool), parse: func(string) (bool, error) {
			return false, refuse("linerate has no --%s", name)
		}}, name, lacking.short, "")
		if lacking.bare {
			flag.NoOptDefVal = "true"
		}
	}
	f.SetNormalizeFunc(unabbreviated(f))
	return f
}

// unabbreviated completes the names of long options, of which iperf3 takes any
// beginning that is one option's alone.
func unabbreviated(f *pflag.FlagSet) func(*pflag.FlagSet, string) pflag.NormalizedName {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		begins := func(full string) bool { return strings.HasPrefix(full, name) }
		first := slices.IndexFunc(names, begins)
		if slices.Contains(names, name) || first < 0 || slices.ContainsFunc(names[first+1:], begins) {
			return pflag.NormalizedName(name)
		}
		return pflag.NormalizedName(names[first])
	}
}

func (a *iperf3Args) addBoth(f *pflag.FlagSet) {
	iperf3Flag(f, &a.port, "port", "p", "5201", iperf3Port)
	iperf3Flag(f, &a.format, "format", "f", "", func(s string) (byte, error) {
		if s == "" || !strings.Contains("kmgtKMGT", s[:1]) {
			return 0, refuse("bad format specifier (valid formats are in the set [kmgtKMGT])")
		}
		return s[0], nil
	})
	iperf3Flag(f, &a.interval, "interval", "i", "1", func(s string) (time.Duration, error) {
		d, err := iperf3Seconds(s)
		if err == nil && d != 0 && (d < 100*time.Millisecond || d > time.Minute) {
			err = refuse("invalid report interval (min = 0.1, max = 60 seconds)")
		}
		return d, err
	})
	f.StringVarP(&a.bind, "bind", "B", "", "")
	f.StringVar(&a.bindDev, "bind-dev", "", "")
	f.BoolVarP(&a.v4, "version4", "4", false, "")
	f.BoolVarP(&a.v6, "version6", "6", false, "")
	f.BoolVarP(&a.verbose, "verbose", "V", false, "")
	f.BoolVarP(&a.json, "json", "J", false, "")
	f.BoolVar(&a.stream, "json-stream", false, "")
	f.BoolVar(&a.fullStream, "json-stream-full-output", false, "")
	f.StringVarP(&a.pidFile, "pidfile", "I", "", "")
	f.StringVar(&a.logFile, "logfile", "", "")
	f.Bool("forceflush", false, "") // every line is written at once in any case
	iperf3Flag(f, &a.affinity, "affinity", "A", "-1", func(s string) (int, error) {
		if strings.Contains(s, ",") {
			return 0, refuse("--affinity: linerate keeps its own end to a CPU alone: start the server with an -A of its own")
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < -1 || n > 1024 {
			err = refuse("affinity must be the number of a CPU")
		}
		return n, err
	})
	iperf3Flag(f, new(string), "cntl-ka", "", "", func(s string) (string, error) {
		if strings.TrimSpace(s) != "" {
			return "", refuse("--cntl-ka: linerate keeps the control connection alive by times of its own: leave the numbers out")
		}
		return s, nil
	})
	f.Lookup("cntl-ka").NoOptDefVal = " "
	f.StringVar(&a.timestamps, "timestamps", "", "")
	f.Lookup("timestamps").NoOptDefVal = "%c "
	f.BoolVar(&a.pkcs1, "use-pkcs1-padding", false, "")
}

func (a *iperf3Args) addServer(f *pflag.FlagSet) {
	f.BoolVarP(&a.daemon, "daemon", "D", false, "")
	f.BoolVarP(&a.oneOff, "one-off", "1", false, "")
	iperf3Flag(f, &a.rateLimit, "server-bitrate-limit", "", "", func(s string) (uint64, error) {
		rate, over, given := strings.Cut(s, "/")
		if given { // the time that the stock server averages over; ours always takes its own (5 s)
			d, err := iperf3Seconds(over)
			if err != nil || d < 100*time.Millisecond || d > time.Minute {
				return 0, refuse("invalid time interval for calculating average data rate")
			}
		}
		return units.ParseCount(rate)
	})
	iperf3Flag(f, &a.maxDuration, "server-max-duration", "", "", wholeSeconds(1, 86400, "test duration too long (maximum = 86400 seconds)"))
	iperf3Flag(f, &a.idleTimeout, "idle-timeout", "", "", wholeSeconds(1, 86400, "idle timeout parameter is not positive or larger than allowed limit"))
	f.StringVar(&a.privateKey, "rsa-private-key-path", "", "")
	f.StringVar(&a.usersFile, "authorized-users-path", "", "")
	iperf3Flag(f, &a.skew, "time-skew-threshold", "", "10", wholeSeconds(1, 1<<31, "skew threshold must be a positive number"))
}

func (a *iperf3Args) addClient(f *pflag.FlagSet) {
	f.BoolVarP(&a.udp, "udp", "u", false, "")
	iperf3Flag(f, &a.connectTimeout, "connect-timeout", "", "", milliseconds(time.Millisecond, 1<<31*time.Millisecond, "connect timeout must be a positive number of milliseconds"))
	iperf3Flag(f, &a.rate, "bitrate", "b", "", a.parseRate)
	iperf3Flag(f, &a.pacingTimer, "pacing-timer", "", "", func(s string) (time.Duration, error) {
		us, err := units.ParseCount(s)
		if err == nil && us > 1e6 {
			err = refuse("pacing timer too long (maximum = 1000000 microseconds)")
		}
		return time.Duration(us) * time.Microsecond, err
	})
	iperf3Flag(f, &a.fqRate, "fq-rate", "", "", units.ParseCount)
	iperf3Flag(f, &a.duration, "time", "t", "10", wholeSeconds(0, 86400, "test duration too long (maximum = 86400 seconds)"))
	iperf3Flag(f, &a.bytes, "bytes", "n", "", units.ParseSize)
	iperf3Flag(f, &a.blocks, "blockcount", "k", "", units.ParseSize)
	iperf3Flag(f, &a.length, "length", "l", "", sizeTo(1<<20, "block size too large (maximum = 1048576 bytes)"))
	iperf3Flag(f, &a.cport, "cport", "", "", iperf3Port)
	iperf3Flag(f, &a.parallel, "parallel", "P", "1", func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, refuse("number of parallel streams must be a number of at least 1")
		}
		if n > 128 {
			return 0, refuse("number of parallel streams too large (maximum = 128)")
		}
		return n, nil
	})
	f.BoolVarP(&a.reverse, "reverse", "R", false, "")
	f.BoolVar(&a.bidir, "bidir", false, "")
	iperf3Flag(f, &a.window, "window", "w", "", sizeTo(512<<20, "socket buffer size too large (maximum = 536870912 bytes)"))
	f.StringVarP(&a.congestion, "congestion", "C", "", "")
	iperf3Flag(f, &a.mss, "set-mss", "M", "", sizeTo(32767, "TCP MSS too large (maximum = 32767 bytes)"))
	f.BoolVarP(&a.noDelay, "no-delay", "N", false, "")
	iperf3Flag(f, &a.tos, "tos", "S", "", func(s string) (uint8, error) {
		n, err := strconv.ParseUint(s, 0, 8)
		if err != nil {
			err = errBadTOS
		}
		return uint8(n), err
	})
	iperf3Flag(f, &a.tos, "dscp", "", "", iperf3DSCP)
	f.BoolVarP(&a.zeroCopy, "zerocopy", "Z", false, "")
	f.BoolVar(&a.serverOutput, "get-server-output", false, "")
	iperf3Flag(f, &a.omit, "omit", "O", "", wholeSeconds(0, 600, "bogus value for --omit"))
	f.StringVarP(&a.title, "title", "T", "", "")
	f.StringVar(&a.extraData, "extra-data", "", "")
	f.Bool("udp-counters-64bit", false, "") // they are always asked for
	f.Bool("dont-fragment", false, "")      // no datagram is ever fragmented
	f.BoolVar(&a.repeating, "repeating-payload", false, "")
	iperf3Flag(f, &a.sndTimeout, "snd-timeout", "", "", milliseconds(0, 86400*time.Second, "send timeout value is incorrect or not in range"))
	f.StringVar(&a.username, "username", "", "")
	f.StringVar(&a.publicKey, "rsa-public-key-path", "", "")
}

// parseRate parses -b: bit/s, with K, M, G and T of 1000, and after a slash the
// packets of a burst.
func (a *iperf3Args) parseRate(s string) (uint64, error) {
	rate, burst, given := strings.Cut(s, "/")
	if given {
		n, err := strconv.Atoi(burst)
		if err != nil || n < 1 || n > 1000 {
			return 0, refuse("invalid burst count (maximum = 1000)")
		}
		a.burst = n
	}
	return units.ParseCount(rate)
}

var errBadTOS = refuse("bad TOS value (must be between 0 and 255 inclusive)")

// iperf3DSCP parses a code point, of which iperf3 takes octal and hex numbers too,
// and returns the byte of the IP header.
func iperf3DSCP(s string) (uint8, error) {
	if n, err := strconv.ParseUint(s, 0, 8); err == nil && n <= 63 {
		return uint8(n) << 2, nil
	}
	tos, err := plan.ParseDSCP(s)
	if err != nil {
		err = errBadTOS
	}
	return tos, err
}
