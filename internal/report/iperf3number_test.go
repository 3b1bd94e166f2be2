package report

import (
	"bytes"
	"strings"
	"testing"

	"linerate/internal/result"
)

func TestIPerf3Rate(t *testing.T) {
	for _, tt := range []struct {
		bps    float64
		format byte
		want   string
	}{
		{0, 0, "0.00 bits/sec"},
		{996_000, 0, " 996 Kbits/sec"},
		{1_007_594, 0, "1.01 Mbits/sec"},
		{9_994_000, 0, "9.99 Mbits/sec"},
		{9_996_000, 0, "10.0 Mbits/sec"},
		{99_960_000, 0, " 100 Mbits/sec"},
		{999_400_000_000, 0, " 999 Gbits/sec"},
		{12e15, 0, "12000 Tbits/sec"},
		{11_991_000, 'k', "11991 Kbits/sec"},
		{11_991_000, 'm', "12.0 Mbits/sec"},
		{11_991_000, 'g', "0.01 Gbits/sec"},
		{11_991_000, 't', "0.00 Tbits/sec"},
		{11_991_000, 'K', "1464 KBytes/sec"},
		{11_991_000, 'M', "1.43 MBytes/sec"},
	} {
		if got := iperf3Rate(tt.bps, tt.format); got != tt.want {
			t.Errorf("%g as %q: %q, want %q", tt.bps, tt.format, got, tt.want)
		}
	}
	if got, want := iperf3Bytes(1023), "1023 Bytes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := iperf3Bytes(501_008), " 489 KBytes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIPerf3PercentHasNoExponent(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0", 100.0 / 3: "33", 0.0391: "0.039", 5: "5", 99.4: "99", 99.7: "100", 100: "100", 0.0000123: "0.000012",
	} {
		if got := iperf3Percent(p); got != want {
			t.Errorf("%g: %s, want %s", p, got, want)
		}
	}
}

// lossy is a test of 20 packets of which so many came, so many of them late; at a
// client that sent.
func lossy(came, late uint64) (sampled, *result.Report) {
	s := sampled{protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{20}, step: 0.22}
	r := s.report(false)
	r.Receiver = s.arrived(came)
	r.Receiver.Flows = nil
	r.Receiver.Lost, r.Receiver.Reordered = 20-came, late
	return s, r
}

func TestIPerf3TextTellsTheTrueLoss(t *testing.T) {
	for _, tt := range []struct {
		came, late uint64
		want       string
	}{
		{19, 0, "[  5]   0.00-0.22   sec  26.9 KBytes  1.00 Mbits/sec  0.015 ms  1/20 (5%)  receiver\n"}, // stock prints 0/19 (0%)
		{0, 0, "[  5]   0.00-0.22   sec  0.00 Bytes  0.00 bits/sec  0.015 ms  20/20 (100%)  receiver\n"}, // stock prints 0/0 (0%)
		{20, 2, "[SUM]  0.0- 0.2 sec  2 datagrams received out-of-order\n[  5]   0.00-0.22   sec  28.3 KBytes  1.05 Mbits/sec  0.015 ms  0/20 (0%)  receiver\n"},
	} {
		s, r := lossy(tt.came, tt.late)
		if got := s.printed(t, r, s.facts(false)); !strings.Contains(got, tt.want) {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

func TestIPerf3TellsNoLossWhereTheReceiverToldNothing(t *testing.T) {
	s, r := lossy(20, 0)
	r.Receiver, r.Error = nil, "the peer went away"
	got := s.printed(t, r, s.facts(false))
	if want := "0/20 (0%)  sender\n[  5] (receiver statistics not available)\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant %s at the end", got, want)
	}
	var b bytes.Buffer
	if err := IPerf3JSON(&b, r, s.facts(false)); err != nil {
		t.Fatal(err)
	}
	for _, k := range keysOf(t, b.Bytes()) {
		if strings.HasPrefix(k.Path, ".end.sum.lost") || strings.HasPrefix(k.Path, ".end.sum_received") {
			t.Errorf("%s is made up", k.Path)
		}
	}
}

func TestIPerf3TellsStreamsApartOnlyWhereTheReportDoes(t *testing.T) {
	s := sampled{protocol: "udp", direction: "forward", parallel: 2, counts: []uint64{20}, step: 1}
	r := s.report(false)
	r.Receiver.Flows = nil
	got := s.printed(t, r, s.facts(false))
	for _, want := range []string{
		"0/20 (0%)  sender\n[  7] (receiver statistics not available)\n",
		"0/40 (0%)  receiver\n\niperf Done.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
