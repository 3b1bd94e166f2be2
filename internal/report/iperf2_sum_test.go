package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// duplexClient is a client whose connections, one or two, serve both ways.
func duplexClient(flows int) *result.Report {
	const each = 5_242_880
	r := &result.Report{
		Config:   &result.Config{Protocol: "tcp", Direction: "bidir", Destination: "192.0.2.2:5001", Flows: flows, WindowGot: 8192},
		Sender:   &result.Sender{PayloadBytes: uint64(flows) * each, Seconds: 2.0449},
		Reverse:  &result.Direction{Receiver: &result.Receiver{PayloadBytes: uint64(flows) * each, Seconds: 2.0966}},
		Receiver: &result.Receiver{},
	}
	for i := range flows {
		r.Streams = append(r.Streams, iperf2Stream(false, true, []string{"45212", "45214"}[i]))
		if flows > 1 {
			r.Sender.Flows = append(r.Sender.Flows, result.Sender{PayloadBytes: each, Seconds: 2.0449})
			r.Reverse.Receiver.Flows = append(r.Reverse.Receiver.Flows, result.Receiver{PayloadBytes: each, Seconds: 2.0966})
		}
	}
	return r
}

// The two ways of full duplex have one sum: with several connections always, with one
// at the end of a test without intervals, and over UDP with the datagrams of both.
func TestIPerf2SumsUpBothWays(t *testing.T) {
	udp := duplexClient(1)
	udp.Config.Protocol = "udp"
	udp.Sender = &result.Sender{PayloadBytes: 630_630, Seconds: 1.0044, SentPackets: &result.SentPackets{Packets: 430}}
	udp.Reverse.Receiver = &result.Receiver{PayloadBytes: 629_160, Seconds: 1.0048, ArrivedPackets: udpCame(428, 0, 0, 1_000)}
	udp.Receiver = nil
	for _, c := range []struct {
		name   string
		o      IPerf2Options
		report *result.Report
		want   string
	}{
		{"one connection", IPerf2Options{}, duplexClient(1), `
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0449 sec  5.00 MBytes  20.5 Mbits/sec
[ *1] 0.0000-2.0966 sec  5.00 MBytes  20.0 Mbits/sec
[SUM] 0.0000-2.0966 sec  10.0 MBytes  40.0 Mbits/sec
`},
		{"one connection, intervals", IPerf2Options{Interval: time.Second}, duplexClient(1), `
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0449 sec  5.00 MBytes  20.5 Mbits/sec
[ *1] 0.0000-2.0966 sec  5.00 MBytes  20.0 Mbits/sec
`},
		{"two connections, intervals", IPerf2Options{Interval: time.Second}, duplexClient(2), `
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0449 sec  5.00 MBytes  20.5 Mbits/sec
[  2] 0.0000-2.0449 sec  5.00 MBytes  20.5 Mbits/sec
[ *1] 0.0000-2.0966 sec  5.00 MBytes  20.0 Mbits/sec
[ *2] 0.0000-2.0966 sec  5.00 MBytes  20.0 Mbits/sec
[SUM] 0.0000-2.0966 sec  20.0 MBytes  80.0 Mbits/sec
`},
		{"udp", IPerf2Options{UDP: true}, udp, `
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0044 sec   616 KBytes  5.02 Mbits/sec
[  1] Sent 430 datagrams
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[ *1] 0.0000-1.0048 sec   614 KBytes  5.01 Mbits/sec   0.001 ms 0/428 (0%)
[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS
[SUM] 0.0000-1.0048 sec  1.20 MBytes  10.0 Mbits/sec 858     854 pps
[SUM-2] Sent 858 datagrams
`},
		{"udp -e", IPerf2Options{UDP: true, Enhanced: true, Interval: time.Second}, udp, `
[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS
[  1] 0.0000-1.0044 sec   616 KBytes  5.02 Mbits/sec  430/0      428 pps
[  1] Sent 430 datagrams
[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr
[ *1] 0.0000-1.0048 sec   614 KBytes  5.01 Mbits/sec   0.001 ms 0/428 (0%) -/-/-/- ms 426 pps
[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS
[FD1] 0.0000-1.0048 sec  1.20 MBytes  10.0 Mbits/sec 858     854 pps
`},
		{"csv", IPerf2Options{CSV: true}, duplexClient(1), `
19700101000000,192.0.2.1,45212,192.0.2.2,5001,1,0.0-2.0,5242880,20511046
19700101000000,192.0.2.1,45212,192.0.2.2,5001,1,0.0-2.1,5242880,20005265
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.NoSettings, c.o.NoConnections = true, true
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), iperf2Text(t, c.o, c.report)); diff != "" {
				t.Errorf("-stock +ours\n%s", diff)
			}
		})
	}
}
