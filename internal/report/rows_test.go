package report

import (
	"io"
	"strings"
	"testing"

	"linerate/internal/result"
)

func to[T any](v T) *T { return &v }

// tables are a report of each command that fills results with rates or sizes.
func tables() map[string]*result.Report {
	delay := &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Unique: 900, Lost: 100, LossRatio: to(0.1)},
		Arrivals: &result.Arrivals{DelayNS: &result.Delay{P50: 38_000, P99: 61_000}}}
	return map[string]*result.Report{
		"search": {Command: "search", Results: []result.Row{
			{Config: result.Config{FrameBytes: 1518}, Receiver: delay, RowRate: &result.RowRate{L2Bps: 98.76e6}, Trials: make([]result.Trial, 17), Found: &result.Found{
				Goal: "ndr", Method: "mlrsearch", PPS: to(8133.5), UpperPPS: to(8149.0), LineRatio: to(0.1), Reason: "8149 packets/s lost more"}},
			{Config: result.Config{FrameBytes: 64}, Trials: make([]result.Trial, 3), Found: &result.Found{
				Goal: "pdr", LossRatio: 0.005, Method: "mlrsearch", Reason: "even the lowest rate lost more"}},
		}},
		"rfc2544": {Command: "search", Results: []result.Row{
			{Config: result.Config{FrameBytes: 1518}, Receiver: delay, RowRate: &result.RowRate{L2Bps: 98.76e6}, Trials: make([]result.Trial, 17), Found: &result.Found{
				Goal: "ndr", Method: "rfc2544", PPS: to(8133.5), UpperPPS: to(8149.0), Reason: "8149 packets/s lost more",
				Latency: &result.Latency{DurationS: 60, Runs: make([]result.LatencyRun, 3),
					DelayNS: &result.LatencyTimes{Min: 30_000, P50: 37_500, P99: 60_000, Max: 99_000, Clock: "same"}},
				BackToBack: &result.BackToBack{PPS: 81_274, Frames: 120, Min: 119, Max: 121, StdDev: to(1.0),
					ImpliedS: 0.0015, CorrectedS: 0.0013, BufferFrames: 108, Bursts: []uint64{119, 120, 121}, Trials: make([]result.Trial, 40)}}},
			{Config: result.Config{FrameBytes: 64}, RowRate: &result.RowRate{L2Bps: 50e6}, Trials: make([]result.Trial, 9), Found: &result.Found{
				Goal: "ndr", Method: "rfc2544", PPS: to(97_656.25), Reason: "the highest rate that was asked for passed",
				Latency: &result.Latency{DurationS: 60, Runs: make([]result.LatencyRun, 1), RTTNS: &result.LatencyTimes{Min: 50_000, P50: 75_000, P99: 90_000, Max: 95_000},
					DelayNS: &result.LatencyTimes{P50: 1000, P99: 2000, Max: 3000, Clock: "relative"}}}},
		}},
		"sweep": {Command: "sweep", Results: []result.Row{
			{Config: result.Config{FrameBytes: 512}, Receiver: delay, RowRate: &result.RowRate{PPS: 9000, L2Bps: 36.864e6},
				Trials: []result.Trial{{Offered: &result.Offered{PPS: 10_000, LossRatio: 0.1}}}},
			{Config: result.Config{FrameBytes: 512}, RowRate: &result.RowRate{PPS: 8000, L2Bps: 32.768e6},
				Trials: []result.Trial{{Offered: &result.Offered{PPS: 8000}}}},
		}},
		"mtu": {Command: "mtu", Results: []result.Row{
			{Config: result.Config{Interface: "eth0"}, MTU: &result.MTU{Peer: "10.77.2.1", Forward: to(4470), Reverse: to(1400), Local: 9000, Path: 4470,
				RefusedBy: "router", RefusedFrom: "10.77.1.254", ReverseRefusedBy: "fragments", Fragmented: true, Probes: 20, Unanswered: 2}},
		}},
	}
}

func TestTables(t *testing.T) {
	for name, want := range map[string]string{
		"search": "frame  loss     packets/s  Mbit/s L2  of line    delay p50 / p99  trials  stopped because\n" +
			" 1518  none          8134      98.76     10 %  38.0 µs / 61.0 µs      17  8149 packets/s lost more\n" +
			"   64  ≤ 0.5 %          -          -        -                  -       3  even the lowest rate lost more\n",
		"rfc2544": "frame  loss   kpps  Mbit/s L2  of line                 delay p50 / p99     longest burst  trials  stopped because\n" +
			" 1518  none   8.13      98.76        -               37.5 µs / 60.0 µs  120 (119 to 121)      17  8149 packets/s lost more\n" +
			"   64  none  97.66      50.00        -  75.0 µs / 90.0 µs (round trip)                 -       9  the highest rate that was asked for passed\n",
		"sweep": "frame  offered kpps  came kpps  Mbit/s L2  lost    delay p50 / p99\n" +
			"  512         10.00      9.000      36.86  10 %  38.0 µs / 61.0 µs\n" +
			"  512         8.000      8.000      32.77     0                  -\n",
		"mtu": "4470 bytes pass whole to 10.77.2.1; larger is refused by the router 10.77.1.254\n" +
			"1400 bytes pass whole on the way back; larger comes in fragments\n" +
			"2 of 20 probes were lost at random\n",
	} {
		rep := tables()[name]
		var text, rows strings.Builder
		var err error
		switch name {
		case "search", "rfc2544":
			err = Search(&text, rep, Options{})
		case "sweep":
			err = Sweep(&text, rep, Options{})
		case "mtu":
			err = MTU(&text, rep, Options{})
		}
		if err != nil || text.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text.String(), want)
		}
		if err := CSV(&rows, rep); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, "csv-"+name, []byte(rows.String()))
	}
}

// Where an answer of a size that does not pass could be what was dropped, the way
// there is not blamed alone.
func TestABlackHoleIsWhereItCanBe(t *testing.T) {
	for _, c := range []struct {
		peer, protocol string
		reverse        int
		either         bool
	}{
		{"fd77:2::1", "icmp", 1400, true},
		{"fd77:2::1", "icmp", 4470, false},
		{"fd77:2::1", "udp", 1400, false},
		{"10.77.2.1", "icmp", 1400, false},
	} {
		var b strings.Builder
		m := &result.MTU{Peer: c.peer, Forward: to(1400), Reverse: &c.reverse, Local: 9000, RefusedBy: "silence"}
		if err := MTU(&b, &result.Report{Results: []result.Row{{Config: result.Config{Protocol: c.protocol}, MTU: m}}}, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "there or on the way back"); got != c.either || !strings.Contains(b.String(), "black hole") {
			t.Errorf("%+v: %s", c, b.String())
		}
	}
}

// A stock peer tells of no delay, and a sender may be too slow for the rate.
func TestTablesOfWhatIsNotKnown(t *testing.T) {
	stock := &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Unique: 900}}
	slow := result.Row{
		Config: result.Config{FrameBytes: 1518, RateBps: 10e9, Rate: "10G"}, Sender: &result.Sender{Rate: &result.Rate{L4Bps: 4e9}},
		Trials: []result.Trial{{Sent: 400, Unique: 400, Offered: &result.Offered{Shortfall: 600}}},
	}
	for _, c := range []struct {
		command string
		print   func(io.Writer, *result.Report, Options) error
		row     result.Row
		says    string
	}{
		{"search", Search, result.Row{Receiver: stock, Found: &result.Found{}}, " -  "},
		{"sweep", Sweep, result.Row{Receiver: stock, RowRate: &result.RowRate{}, Trials: []result.Trial{{Offered: &result.Offered{}}}}, " -\n"},
		{"mtu", MTU, slow, "1518-byte frames · asked 10 Gbit/s payload, achieved 4 Gbit/s · 600 packets were given up"},
	} {
		var b strings.Builder
		if err := c.print(&b, &result.Report{Results: []result.Row{c.row}}, Options{}); err != nil || !strings.Contains(b.String(), c.says) {
			t.Errorf("%s: %v\n%s\nwant %q", c.command, err, b.String(), c.says)
		}
	}
}
