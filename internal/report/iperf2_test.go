package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// The texts below are what iperf 2.1.8 printed of the same numbers, but for the
// initial window and round trip in brackets where a TCP connection begins, which
// a report does not have.

func ns(v int64) *int64 { return &v }

// iperf2Stream is the connection of a client at 192.0.2.1.
func iperf2Stream(server, sender bool, clientPort string) result.Stream {
	s := result.Stream{ID: 1, Local: "192.0.2.1:" + clientPort, Remote: "192.0.2.2:5001", Sender: sender}
	if server {
		s.Local, s.Remote = s.Remote, s.Local
	}
	return s
}

func udpCame(packets, lost, late uint64, jitter int64) *result.ArrivedPackets {
	return &result.ArrivedPackets{Packets: packets, Unique: packets, Lost: lost, OutOfOrder: &late, JitterNS: ns(jitter)}
}

// iperf2Text is what an IPerf2 prints of a whole test.
func iperf2Text(t *testing.T, o IPerf2Options, r *result.Report) string {
	t.Helper()
	var b strings.Builder
	p := NewIPerf2(&b, o)
	if o.Server {
		window := 131072
		if o.UDP {
			window = 212992
		}
		if err := p.Listening(5001, window, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Header(r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Intervals {
		if err := p.Interval(r, &r.Intervals[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Summary(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// udpClient is a client that sent 10 Mbit/s of 1470 bytes for 2 s.
func udpClient() *result.Report {
	return &result.Report{
		Started: "2026-11-30T09:41:22.5Z",
		Config: &result.Config{
			Protocol: "udp", Direction: "forward", Destination: "192.0.2.2:5001", RateBps: 10e6, PayloadBytes: 1470,
			Flows: 1, WindowGot: 106496,
		},
		Streams:  []result.Stream{iperf2Stream(false, true, "55844")},
		Sender:   &result.Sender{PayloadBytes: 2_504_880, Seconds: 2.0017, SentPackets: &result.SentPackets{Packets: 1705}},
		Receiver: &result.Receiver{PayloadBytes: 2_504_880, Seconds: 2.0016, ArrivedPackets: udpCame(1704, 0, 0, 13_000)},
	}
}

func tcpReport(server bool) *result.Report {
	r := &result.Report{
		Started: "2026-11-30T09:41:20Z",
		Config:  &result.Config{Protocol: "tcp", Direction: "forward", Destination: "192.0.2.2:5001", WindowGot: 8192},
		Streams: []result.Stream{iperf2Stream(server, !server, "52038")},
	}
	if server {
		r.Receiver = &result.Receiver{PayloadBytes: 25_165_824, Seconds: 2.0072}
	} else {
		r.Sender = &result.Sender{PayloadBytes: 25_165_824, Seconds: 2.0225}
	}
	return r
}

func TestIPerf2IsTheStockText(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      IPerf2Options
		report *result.Report
		want   string
	}{
		{"udp client", IPerf2Options{UDP: true}, udpClient(), `
------------------------------------------------------------
Client connecting to 192.0.2.2, UDP port 5001
Sending 1470 byte datagrams, IPG target: 1176.00 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.1 port 55844 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0017 sec  2.39 MBytes  10.0 Mbits/sec
[  1] Sent 1705 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-2.0016 sec  2.39 MBytes  10.0 Mbits/sec   0.013 ms 0/1704 (0%)
`},
		{"udp server behind an impaired path", IPerf2Options{UDP: true, Server: true, Interval: time.Second}, &result.Report{
			Config:  &result.Config{Protocol: "udp", Direction: "forward"},
			Streams: []result.Stream{iperf2Stream(true, false, "58415")},
			Intervals: []result.Interval{
				{StartS: 0, EndS: 1, Receiver: &result.ReceiverInterval{PayloadBytes: 1_239_210,
					IntervalArrived: &result.IntervalArrived{Unique: 843, Lost: 9, Reordered: 20, Duplicates: 9, JitterNS: ns(44_000)}}},
				{StartS: 1, EndS: 2, Receiver: &result.ReceiverInterval{PayloadBytes: 1_228_920,
					IntervalArrived: &result.IntervalArrived{Unique: 836, Lost: 14, Reordered: 21, JitterNS: ns(39_000)}}},
				{StartS: 2, EndS: 2.0013, Receiver: &result.ReceiverInterval{PayloadBytes: 1470}},
			},
			Receiver: &result.Receiver{PayloadBytes: 2_471_070, Seconds: 2.0013, ArrivedPackets: udpCame(1681, 23, 50, 38_000)},
		}, `
------------------------------------------------------------
Server listening on UDP port 5001
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 58415
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0000 sec  1.18 MBytes  9.91 Mbits/sec   0.044 ms 9/852 (1.1%)
[  1] 0.0000-1.0000 sec  29 datagrams received out-of-order
[  1] 1.0000-2.0000 sec  1.17 MBytes  9.83 Mbits/sec   0.039 ms 14/850 (1.6%)
[  1] 1.0000-2.0000 sec  21 datagrams received out-of-order
[  1] 0.0000-2.0013 sec  2.36 MBytes  9.88 Mbits/sec   0.038 ms 23/1704 (1.3%)
[  1] 0.0000-2.0013 sec  50 datagrams received out-of-order
`},
		{"tcp client", IPerf2Options{}, tcpReport(false), `
------------------------------------------------------------
Client connecting to 192.0.2.2, TCP port 5001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.1 port 52038 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0225 sec  24.0 MBytes  99.5 Mbits/sec
`},
		{"tcp server", IPerf2Options{Server: true}, tcpReport(true), `
------------------------------------------------------------
Server listening on TCP port 5001
TCP window size:  128 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 52038
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0072 sec  24.0 MBytes   100 Mbits/sec
`},
		{"tcp client, two flows, window", IPerf2Options{Interval: time.Second, MSS: true}, &result.Report{
			Config: &result.Config{Protocol: "tcp", Direction: "forward", Destination: "192.0.2.2:5001", Flows: 2,
				WindowAsked: 65536, WindowGot: 65536, MSS: 536},
			Streams: []result.Stream{iperf2Stream(false, true, "58516"), iperf2Stream(false, true, "58518")},
			Intervals: []result.Interval{{StartS: 0, EndS: 1, Sender: &result.SenderInterval{PayloadBytes: 5_242_880,
				Flows: []result.SenderInterval{{PayloadBytes: 2_621_440}, {PayloadBytes: 2_621_440}}}}},
			Sender: &result.Sender{PayloadBytes: 10_458_000, Seconds: 2.0455,
				Flows: []result.Sender{{PayloadBytes: 5_239_000, Seconds: 2.0626}, {PayloadBytes: 5_239_000, Seconds: 2.0622}}},
		}, `
------------------------------------------------------------
Client connecting to 192.0.2.2, TCP port 5001
MSS size 536 bytes
TCP window size:  128 KByte (WARNING: requested 64.0 KByte)
------------------------------------------------------------
[  1] local 192.0.2.1 port 58516 connected with 192.0.2.2 port 5001
[  2] local 192.0.2.1 port 58518 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0000 sec  2.50 MBytes  21.0 Mbits/sec
[  2] 0.0000-1.0000 sec  2.50 MBytes  21.0 Mbits/sec
[SUM] 0.0000-1.0000 sec  5.00 MBytes  41.9 Mbits/sec
[  1] 0.0000-2.0626 sec  5.00 MBytes  20.3 Mbits/sec
[  2] 0.0000-2.0622 sec  5.00 MBytes  20.3 Mbits/sec
[SUM] 0.0000-2.0455 sec  9.97 MBytes  40.9 Mbits/sec
`},
		{"udp server, two flows", IPerf2Options{UDP: true, Server: true}, &result.Report{
			Config:  &result.Config{Protocol: "udp", Direction: "forward"},
			Streams: []result.Stream{iperf2Stream(true, false, "59035"), iperf2Stream(true, false, "33285")},
			Receiver: &result.Receiver{PayloadBytes: 760_000, Seconds: 1, ArrivedPackets: udpCame(518, 1, 3, 9_000),
				Flows: []result.Receiver{
					{PayloadBytes: 254_310, Seconds: 1, ArrivedPackets: udpCame(172, 0, 1, 11_000)},
					{PayloadBytes: 251_370, Seconds: 1, ArrivedPackets: udpCame(171, 3, 0, 6_000)},
				}},
		}, `
------------------------------------------------------------
Server listening on UDP port 5001
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 59035
[  2] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 33285
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0000 sec   248 KBytes  2.03 Mbits/sec   0.011 ms 0/172 (0%)
[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order
[  2] 0.0000-1.0000 sec   245 KBytes  2.01 Mbits/sec   0.006 ms 3/174 (1.7%)
[ ID] Interval       Transfer     Bandwidth
[SUM] 0.0000-1.0000 sec   742 KBytes  6.08 Mbits/sec   1/519 (0.19%)
[SUM] 0.0000-1.0000 sec  3 datagrams received out-of-order
`},
		{"udp client -R", IPerf2Options{UDP: true}, func() *result.Report {
			r := udpClient()
			r.Config.Direction, r.Config.RateBps, r.Sender = "reverse", 5e6, nil
			r.Streams[0] = iperf2Stream(false, false, "35555")
			r.Receiver = &result.Receiver{PayloadBytes: 1_253_910, Seconds: 2.0008, ArrivedPackets: udpCame(853, 0, 0, 4_000)}
			return r
		}(), `
------------------------------------------------------------
Client connecting to 192.0.2.2, UDP port 5001
Sending 1470 byte datagrams, IPG target: 2352.00 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.1 port 35555 connected with 192.0.2.2 port 5001 (reverse)
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[ *1] 0.0000-2.0008 sec  1.20 MBytes  5.01 Mbits/sec   0.004 ms 0/853 (0%)
`},
		{"udp server, -d", IPerf2Options{UDP: true, Server: true}, &result.Report{
			Config:   &result.Config{Protocol: "udp", Direction: "bidir"},
			Streams:  []result.Stream{iperf2Stream(true, false, "53435"), {Local: "192.0.2.2:48692", Remote: "192.0.2.1:5001", Sender: true}},
			Receiver: &result.Receiver{PayloadBytes: 1_255_380, Seconds: 2.0040, ArrivedPackets: udpCame(854, 0, 0, 2_000)},
			Reverse: &result.Direction{Sender: &result.Sender{PayloadBytes: 1_255_380, Seconds: 2.0040,
				SentPackets: &result.SentPackets{Packets: 854}}},
		}, `
------------------------------------------------------------
Server listening on UDP port 5001
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 53435
[ *2] local 192.0.2.2 port 48692 connected with 192.0.2.1 port 5001 (reverse)
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-2.0040 sec  1.20 MBytes  5.01 Mbits/sec   0.002 ms 0/854 (0%)
[ ID] Interval       Transfer     Bandwidth
[ *2] 0.0000-2.0040 sec  1.20 MBytes  5.01 Mbits/sec
[  2] Sent 854 datagrams
[SUM] 0.0000-2.0040 sec  2.39 MBytes  10.0 Mbits/sec   0/1708 (0%)
`},
		{"udp client -e", IPerf2Options{UDP: true, Enhanced: true, Interval: time.Second, PID: 16244}, func() *result.Report {
			r := udpClient()
			r.Started = "2026-11-30T09:40:02Z"
			r.Intervals = []result.Interval{{StartS: 0, EndS: 1, Sender: &result.SenderInterval{PayloadBytes: 1_250_970,
				IntervalSent: &result.IntervalSent{Packets: 852}}}}
			r.Sender.Packets = 1703
			r.Receiver.Packets = 1704
			return r
		}(), `
------------------------------------------------------------
Client connecting to 192.0.2.2, UDP port 5001 with pid 16244 (1 flows)
TOS set to 0x0 (Nagle on)
Sending 1470 byte datagrams, IPG target: 1176.00 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.1 port 55844 connected with 192.0.2.2 port 5001 on 2026-11-30 09:40:02 (UTC)
[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS
[  1] 0.0000-1.0000 sec  1.19 MBytes  10.0 Mbits/sec  852/0      852 pps
[  1] 0.0000-2.0017 sec  2.39 MBytes  10.0 Mbits/sec  1703/0      851 pps
[  1] Sent 1703 datagrams
[  1] Server Report:
[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr
[  1] 0.0000-2.0016 sec  2.39 MBytes  10.0 Mbits/sec   0.013 ms 0/1704 (0%) -/-/-/- ms 851 pps
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), iperf2Text(t, c.o, c.report)); diff != "" {
				t.Errorf("-stock +ours\n%s", diff)
			}
		})
	}
}

func TestIPerf2IsTheStockCSV(t *testing.T) {
	interval := func(start float64, bytes uint64) result.Interval {
		return result.Interval{StartS: start, EndS: start + 1,
			Sender:   &result.SenderInterval{PayloadBytes: bytes, IntervalSent: &result.IntervalSent{Packets: bytes / 1470}},
			Receiver: &result.ReceiverInterval{PayloadBytes: bytes, IntervalArrived: &result.IntervalArrived{Unique: bytes / 1470, JitterNS: ns(2_000)}},
		}
	}
	udp := func(server bool, seconds float64) *result.Report {
		return &result.Report{
			Started:   "2026-11-30T09:41:22.9Z",
			Config:    &result.Config{Protocol: "udp", Direction: "forward"},
			Streams:   []result.Stream{iperf2Stream(server, !server, "59836")},
			Intervals: []result.Interval{interval(0, 627_690), interval(1, 624_750)},
			Sender:    &result.Sender{PayloadBytes: 1_255_380, Seconds: seconds, SentPackets: &result.SentPackets{Packets: 854}},
			Receiver:  &result.Receiver{PayloadBytes: 1_255_380, Seconds: seconds, ArrivedPackets: udpCame(854, 0, 0, 4_000)},
		}
	}
	for _, c := range []struct {
		name   string
		o      IPerf2Options
		report *result.Report
		want   string
	}{
		{"udp client", IPerf2Options{UDP: true, CSV: true, Interval: time.Second}, udp(false, 2.004064), `
20261130094123,192.0.2.1,59836,192.0.2.2,5001,1,0.0-1.0,627690,5021520,0.000,0,427,0.000,0
20261130094124,192.0.2.1,59836,192.0.2.2,5001,1,1.0-2.0,624750,4998000,0.000,0,425,0.000,0
20261130094124,192.0.2.1,59836,192.0.2.2,5001,1,0.0-2.0,1255380,5011336,0.000,0,-1,-0.000,0
`},
		{"udp server", IPerf2Options{UDP: true, CSV: true, Server: true, Interval: time.Second}, udp(true, 2.004064), `
20261130094123,192.0.2.1,59836,192.0.2.2,5001,1,0.0-1.0,627690,5021520,0.002,0,427,0.000,0
20261130094124,192.0.2.1,59836,192.0.2.2,5001,1,1.0-2.0,624750,4998000,0.002,0,425,0.000,0
20261130094124,192.0.2.1,59836,192.0.2.2,5001,1,0.0-2.0,1255380,5011336,0.004,0,854,0.000,0
`},
		{"tcp client, no intervals", IPerf2Options{CSV: true}, tcpReport(false), `
19700101000000,192.0.2.1,52038,192.0.2.2,5001,1,0.0-2.0,25165824,99543432
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), iperf2Text(t, c.o, c.report)); diff != "" {
				t.Errorf("-stock +ours\n%s", diff)
			}
		})
	}
}

// The same run under each letter of -f: 630630 or 629160 bytes.
func TestIPerf2Units(t *testing.T) {
	for _, c := range []struct {
		letter  byte
		bytes   uint64
		seconds float64
		want    string
	}{
		{'a', 630630, 1.0045, "  616 KBytes  5.02 Mbits/sec"},
		{'A', 630630, 1.0045, "  616 KBytes   613 KBytes/sec"},
		{'b', 630630, 1.0046, " 630630 Bytes  5021939 bits/sec"},
		{'B', 629160, 1.0021, " 629160 Bytes  627842 Bytes/sec"},
		{'k', 630630, 1.0045, "  616 KBytes  5022 Kbits/sec"},
		{'K', 630630, 1.0044, "  616 KBytes   613 KBytes/sec"},
		{'m', 630630, 1.0044, " 0.601 MBytes  5.02 Mbits/sec"},
		{'M', 629160, 1.0021, " 0.600 MBytes  0.599 MBytes/sec"},
		{'g', 629160, 1.0021, " 0.001 GBytes  0.005 Gbits/sec"},
		{'G', 630630, 1.0045, " 0.001 GBytes  0.001 GBytes/sec"},
		{'x', 630630, 1.0045, "  616 KBytes  5.02 Mbits/sec"},
		{0, 0, 0, " 0.000 Bytes  0.000 bits/sec"},
	} {
		o := IPerf2Options{Unit: c.letter}
		if got := " " + o.transfer(c.bytes) + "  " + o.rate(c.bytes, c.seconds); got != c.want {
			t.Errorf("-f %c: %q, want %q", c.letter, got, c.want)
		}
	}
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.000"}, {0.99949, "0.999"}, {0.9995, "1.00"}, {9.9949, "9.99"}, {9.995, "10.0"},
		{99.949, "99.9"}, {99.95, " 100"}, {999.5, "1000"}, {12345, "12345"},
	} {
		if got := iperf2Number(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
	if got := iperf2Percent(0, 0) + iperf2Percent(5, 5) + iperf2Percent(1, 1032); got != "-nan%1e+02%0.097%" {
		t.Errorf("percentages: %s", got)
	}
}
