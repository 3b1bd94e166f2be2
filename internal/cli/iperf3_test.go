package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// asked is a client of nothing but defaults.
func asked(change func(*iperf3Args)) iperf3Args {
	a := iperf3Args{client: "h", port: 5201, interval: time.Second, affinity: -1}
	a.duration, a.parallel, a.skew = 10*time.Second, 1, 10*time.Second
	if change != nil {
		change(&a)
	}
	return a
}

func TestIPerf3Grammar(t *testing.T) {
	for line, want := range map[string]iperf3Args{
		"-c h":        asked(nil),
		"-c h -t 20":  asked(func(a *iperf3Args) { a.duration = 20 * time.Second }),
		"-ch -t20 -R": asked(func(a *iperf3Args) { a.duration, a.reverse = 20*time.Second, true }),
		"--client=h --time=20 --rev": asked(func(a *iperf3Args) {
			a.duration, a.reverse = 20*time.Second, true
		}),
		"-c h -u -V -t 20 -b 500000000": asked(func(a *iperf3Args) {
			a.udp, a.verbose, a.duration, a.rate = true, true, 20*time.Second, 500_000_000
		}),
		"-Vuc h":                      asked(func(a *iperf3Args) { a.udp, a.verbose, a.rate = true, true, 1<<20 }),
		"-c h -u -b 0":                asked(func(a *iperf3Args) { a.udp = true }),
		"-c h -u -b 1.5m/10":          asked(func(a *iperf3Args) { a.udp, a.rate, a.burst = true, 1_500_000, 10 }),
		"-c h -n 2K":                  asked(func(a *iperf3Args) { a.bytes, a.duration = 2048, 0 }),
		"-c h -k 3k -l 1M":            asked(func(a *iperf3Args) { a.blocks, a.length, a.duration = 3072, 1<<20, 0 }),
		"-c h -w 256k -M 1400":        asked(func(a *iperf3Args) { a.window, a.mss = 256<<10, 1400 }),
		"-c h -i 0 -f K":              asked(func(a *iperf3Args) { a.interval, a.format = 0, 'K' }),
		"-c h -i .5 -f Mbits":         asked(func(a *iperf3Args) { a.interval, a.format = 500*time.Millisecond, 'M' }),
		"-c h -S 064":                 asked(func(a *iperf3Args) { a.tos = 52 }),
		"-c h -S 0x34":                asked(func(a *iperf3Args) { a.tos = 52 }),
		"-c h --dscp ef":              asked(func(a *iperf3Args) { a.tos = 0xb8 }),
		"-c h --dscp 056":             asked(func(a *iperf3Args) { a.tos = 46 << 2 }),
		"-c h --timestamps":           asked(func(a *iperf3Args) { a.timestamps = "%c " }),
		"-c h --timestamps=%H -T x":   asked(func(a *iperf3Args) { a.timestamps, a.title = "%H", "x" }),
		"-c h --json-stream":          asked(func(a *iperf3Args) { a.json, a.stream = true, true }),
		"-c h -4 -B a%eth0 --cport 7": asked(func(a *iperf3Args) { a.v4, a.bind, a.cport = true, "a%eth0", 7 }),
		"-c h -O 2 -P 4 --bidir -Z -N -C cubic --fq-rate 1G": asked(func(a *iperf3Args) {
			a.omit, a.parallel, a.bidir, a.zeroCopy, a.noDelay, a.congestion, a.fqRate = 2*time.Second, 4, true, true, true, "cubic", 1e9
		}),
		"-c h -A 1 --cntl-ka --snd-timeout 500 --repeating-payload": asked(func(a *iperf3Args) {
			a.affinity, a.sndTimeout, a.repeating = 1, 500*time.Millisecond, true
		}),
		"-c h extra words": asked(nil),
		"-s":               asked(func(a *iperf3Args) { a.client, a.server = "", true }),
		"-s -D -I f": asked(func(a *iperf3Args) {
			a.client, a.server, a.daemon, a.pidFile = "", true, true, "f"
		}),
		"-s1 -p 7 -J --server-bitrate-limit 1G/3 --idle-timeout 60": asked(func(a *iperf3Args) {
			a.client, a.server, a.oneOff, a.port, a.json = "", true, true, 7, true
			a.rateLimit, a.idleTimeout = 1e9, time.Minute
		}),
	} {
		got, err := parseIPerf3(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, *got, cmp.AllowUnexported(iperf3Args{}, iperf3ClientArgs{}, iperf3ServerArgs{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// TestIPerf3RefusesInStocksWords has what stock iperf3 3.12 says of the same lines,
// and after a bar what is ours.
func TestIPerf3RefusesInStocksWords(t *testing.T) {
	for line, want := range map[string]string{
		"":                            "parameter error - must either be a client (-c) or server (-s)",
		"-s -c x":                     "parameter error - cannot be both server and client",
		"-s -t 3":                     "parameter error - some option you are trying to set is client only| (--time)",
		"-s -J -b 3":                  "parameter error - some option you are trying to set is client only| (--bitrate)",
		"-c x -1":                     "parameter error - some option you are trying to set is server only| (--one-off)",
		"-c x -P 200":                 "parameter error - number of parallel streams too large (maximum = 128)",
		"-c x -l 10 -u":               "parameter error - block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
		"-c x -u -l 70000":            "parameter error - block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
		"-c x -l 2M":                  "parameter error - block size too large (maximum = 1048576 bytes)",
		"-c x -t 90000":               "parameter error - test duration too long (maximum = 86400 seconds)",
		"-c x -i 0.01":                "parameter error - invalid report interval (min = 0.1, max = 60 seconds)",
		"-c x -i 100":                 "parameter error - invalid report interval (min = 0.1, max = 60 seconds)",
		"-c x -w 1G":                  "parameter error - socket buffer size too large (maximum = 536870912 bytes)",
		"-c x -p 70000":               "parameter error - port number must be between 1 and 65535 inclusive",
		"-c x --cport 0":              "parameter error - port number must be between 1 and 65535 inclusive",
		"-c x -n 1M -t 3":             "parameter error - only one test end condition (-t, -n, -k) may be specified",
		"-c x -O 700":                 "parameter error - bogus value for --omit",
		"-c x -S 300":                 "parameter error - bad TOS value (must be between 0 and 255 inclusive)",
		"-c x --dscp foo":             "parameter error - bad TOS value (must be between 0 and 255 inclusive)",
		"-c x -R --bidir":             "parameter error - cannot be both reverse and bidirectional",
		"-c x -f z":                   "parameter error - bad format specifier (valid formats are in the set [kmgtKMGT])",
		"-c x -b 1M/2000":             "parameter error - invalid burst count (maximum = 1000)",
		"-c x --username u":           "parameter error - you must specify a username, password, and path to a valid RSA public key",
		"-s --rsa-private-key-path f": "parameter error - you must specify a path to a valid RSA private key and a user credential file",
		"-s --idle-timeout 0":         "parameter error - idle timeout parameter is not positive or larger than allowed limit",
		"-c x --zzz":                  "unrecognized option '--zzz'",
		"-c x -Q":                     "invalid option -- 'Q'",
		"-c":                          "option requires an argument -- 'c'",
		"-c x --bytes":                "option '--bytes' requires an argument",
		// Stock takes these for something else without a word.
		"-c x -t abc":             `|parameter error - --time: "abc" is not a whole number`,
		"-c x -b 1Q":              `|parameter error - --bitrate: "1Q" is not a count; write a whole number such as 1000, 250k or 1.5M`,
		"-c x -P 0":               "|parameter error - number of parallel streams must be a number of at least 1",
		"-c x -t 0":               "|parameter error - --time: linerate wants an end: take -t 86400, and stop the test with Ctrl-C",
		"-c x -b 1M/10":           "|parameter error - --bitrate: packets of a burst are of UDP alone",
		"-c x -u --fq-rate 1M":    "|parameter error - --fq-rate is of TCP alone: over UDP every packet is paced",
		"-c x -A 1,2":             "|parameter error - --affinity: linerate keeps its own end to a CPU alone: start the server with an -A of its own",
		"-c x -A abc":             "|parameter error - affinity must be the number of a CPU",
		"-c x --cntl-ka=5/1/3":    "|parameter error - --cntl-ka: linerate keeps the control connection alive by times of its own: leave the numbers out",
		"-c x -u --snd-timeout 9": "|parameter error - --snd-timeout is of TCP alone: nothing acknowledges UDP",
		"-c x -D":                 "parameter error - some option you are trying to set is server only| (--daemon)",
		"-c x -4 -6":              "|parameter error - -4 and -6 contradict each other",
	} {
		_, err := parseIPerf3(strings.Fields(line))
		if err == nil {
			t.Errorf("%s: accepted", line)
		} else if want := strings.ReplaceAll(want, "|", ""); err.Error() != want {
			t.Errorf("%s: %s\nwant %s", line, err, want)
		}
	}
}

func TestIPerf3RefusesWhatWeLackByName(t *testing.T) {
	for _, lacking := range iperf3Lacking {
		args := []string{"-c", "x", "--" + lacking.name}
		if !lacking.bare {
			args = append(args, "1")
		}
		_, err := parseIPerf3(args)
		if want := "parameter error - linerate has no --" + lacking.name; err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// TestIPerf3HelpNamesEveryFlag also checks that no name of a table is misspelt.
func TestIPerf3HelpNamesEveryFlag(t *testing.T) {
	f := iperf3Flags(&iperf3Args{})
	for _, name := range append(append([]string{}, iperf3ClientOnly...), iperf3ServerOnly...) {
		if f.Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	lacking := map[string]bool{}
	for _, l := range iperf3Lacking {
		lacking[l.name] = true
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if named := strings.Contains(iperf3Help, "--"+flag.Name); named == lacking[flag.Name] {
			t.Errorf("--%s: in the help is %v", flag.Name, named)
		}
	})
}

func FuzzIPerf3Grammar(f *testing.F) {
	f.Add("-c h -u -V -t 20 -b 500000000")
	f.Add("-s1 --timestamps=%H --server-bitrate-limit 1G/3")
	f.Add("--cli=h -S 064 --dscp ef -A 1,2")
	f.Fuzz(func(t *testing.T, line string) {
		a, err := parseIPerf3(strings.Fields(line))
		if err != nil || a.help || a.version {
			return
		}
		if a.server && (a.client != "" || a.udp || a.bytes != 0) {
			t.Errorf("%q is a server, and a client", line)
		}
		if a.parallel < 1 || a.parallel > 128 || a.port < 1 || a.port > 65535 || a.length > 1<<20 || a.bytes < 0 {
			t.Errorf("%q is out of range: %+v", line, a)
		}
	})
}

func TestTheNameOfIPerf3IsItsCommand(t *testing.T) {
	for called, want := range map[string]string{
		"linerate iperf3 -s":   "iperf3 -s",
		"/usr/bin/iperf3 -c h": "iperf3 -c h",
		"iperf3.exe":           "iperf3",
		"./linerate send h":    "send h",
	} {
		if got := strings.Join(words(strings.Fields(called)), " "); got != want {
			t.Errorf("%s: %s, want %s", called, got, want)
		}
	}
}
