package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"linerate/internal/iperf2"
)

func TestParseIPerf(t *testing.T) {
	for _, c := range []struct {
		args string
		want iperfArgs
	}{
		{"-s", iperfArgs{server: true, port: 5001}},
		{"-s -u -p 6000 -1 -i 1", iperfArgs{server: true, udp: true, port: 6000, once: true, interval: time.Second}},
		{"-s -c x", iperfArgs{server: true, port: 5001}},
		{"-c H", iperfArgs{client: "H", port: 5001,
			ask: iperf2.Settings{Flows: 1, Port: 5001, Duration: 10 * time.Second}}},
		{"-c H -u -b 500M -l 1470", iperfArgs{client: "H", udp: true, port: 5001, rate: iperfRate{bps: 500 << 20},
			ask: iperf2.Settings{Flows: 1, Port: 5001, Size: 1470, Duration: 10 * time.Second}}},
		{"-c H -u -b500m -t0.5 -P3", iperfArgs{client: "H", udp: true, port: 5001, rate: iperfRate{bps: 500_000_000}, limited: true,
			ask: iperf2.Settings{Flows: 3, Port: 5001, Duration: 500 * time.Millisecond}}},
		{"-c H -r", iperfArgs{client: "H", port: 5001, tradeoff: true,
			ask: iperf2.Settings{Mode: iperf2.Tradeoff, Flows: 1, Port: 5001, Duration: 10 * time.Second}}},
		{"-c H -uR -L 6001 -n 1K", iperfArgs{client: "H", udp: true, port: 5001, reverse: true, limited: true, rate: iperfRate{bps: 1 << 20},
			ask: iperf2.Settings{Mode: iperf2.Reverse, Flows: 1, Port: 6001, Bytes: 1024}}},
		{"--client=H --udp --bandwidth 2000pps --tos 0xb8", iperfArgs{client: "H", udp: true, port: 5001, rate: iperfRate{pps: 2000},
			ask: iperf2.Settings{Flows: 1, Port: 5001, TOS: 0xb8, Duration: 10 * time.Second}}},
		{"-c H -f m -y C -e -u -S ef", iperfArgs{client: "H", udp: true, port: 5001, unit: 'm', csv: true, enhanced: true, rate: iperfRate{bps: 1 << 20},
			ask: iperf2.Settings{Flows: 1, Port: 5001, TOS: 0xb8, Duration: 10 * time.Second}}},
	} {
		got, err := parseIPerf(strings.Fields(c.args))
		if err != nil {
			t.Errorf("iperf %s: %v", c.args, err)
		} else if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(iperfArgs{}, iperfRate{})); diff != "" {
			t.Errorf("iperf %s: -want +got\n%s", c.args, diff)
		}
	}
}

func TestParseIPerfRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{"-c H -R -d", "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive"},
		{"-c H -u -C -R", "ERROR: compatibility mode not supported with the requested with options"},
		{"-c H -u -b 0", "ERROR: IPG delay target of inf secs too large (max value is 60 secs)"},
		{"-c H -u -b 10", "ERROR: IPG delay target of 1176.0 secs too large (max value is 60 secs)"},
		{"-c H -b 100pps", "ERROR: units of pps not supported with TCP"},
		{"-c H -b 100k", "ERROR: option -b and -l of 131072 are incompatible, consider setting -l to 12500 or lower"},
		{"-c H -u -X", "ERROR: option of -X or --peer-detect not supported with -u UDP"},
		{"-c H -u --trip-times -l 100", "ERROR: payload (-l) size of 100 too small for --trip-times, must be 128 or greater"},
		{"-c 239.1.1.1 -u -P 2", "ERROR: client option of -P greater than 1 not supported with multicast address"},
		{"-c 239.1.1.1 -u -R", "ERROR: options of --full-duplex, --reverse, -d and -r not supported with multicast addresses"},
		{"-c H --histograms=1m,100", "linerate's iperf has no --histograms"},
		{"-s -D", "linerate's iperf has no --daemon"},
		{"-c H --isochronous", "linerate's iperf has no --isochronous"},
		{"-c H -b 1m,2m -u", "no rate with a deviation"},
		{"-c H -e", "-e over UDP alone"},
		{"-c H -y J", "want C"},
		{"-c H --bogus", "unknown flag: --bogus"},
		{"-c H more", `extra argument "more"`},
		{"-c H -b 1e400", "want a number"},
		{"-c H -l NaN", "want a number"},
	} {
		_, err := parseIPerf(strings.Fields(c[0]))
		if err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("iperf %s: %v, want %q", c[0], err, c[1])
		}
	}
	if _, err := parseIPerf([]string{"-h"}); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("iperf -h: %v", err)
	}
}

func TestIPerfNumber(t *testing.T) {
	for s, want := range map[string]float64{
		"100": 100, "1k": 1000, "1K": 1024, "1.5m": 1_500_000, "100M": 100 << 20, "2g": 2e9, "2G": 2 << 30, "0": 0,
	} {
		if got, err := iperfNumber(s); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "k", "-1", "1x", "1kk", "inf", "1e30"} {
		if got, err := iperfNumber(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

func FuzzParseIPerf(f *testing.F) {
	f.Add("-c H -u -b 500M -l 1470")
	f.Add("-s -y C -f k")
	f.Fuzz(func(t *testing.T, line string) {
		a, err := parseIPerf(strings.Fields(line))
		if err == nil && (a.port < 1 || a.port > 65535 || a.ask.Flows < 0 || a.ask.Duration < 0 || a.interval < 0) {
			t.Fatalf("out of range: %+v", a)
		}
	})
}
