package report

import (
	"strings"
	"testing"

	"linerate/internal/result"
)

// A stock peer's numbers print, and what it does not tell is said to be unknown.
func TestSummaryOfAStockPeer(t *testing.T) {
	sent := uint64(100)
	r := &result.Report{
		Config:   &result.Config{Protocol: "udp", Peer: "iperf3", Direction: "forward"},
		Sender:   &result.Sender{SentPackets: &result.SentPackets{Packets: sent}},
		Receiver: &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Packets: 93, Unique: 93, Lost: 7}},
		Ledger:   &result.Ledger{Sent: &sent, Arrived: 93, Unexplained: 7},
		Hosts:    []result.Host{{Role: "sender", Counters: map[string]result.Counter{}}, {Role: "receiver"}},
	}
	var b strings.Builder
	Options{}.summary(&b, r)
	if want := "  unexplained   7   what the receiver's host counted is unknown\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in:\n%s", want, b.String())
	}
}

func TestHostOfAnInterval(t *testing.T) {
	h := &result.Host{
		Role:        "receiver",
		CPU:         &result.CPU{Process: 0.31, Cores: []result.Core{{Core: 0, Softirq: 0.4, User: 0.21, Idle: 0.39}}},
		Counters:    map[string]result.Counter{"UdpRcvbufErrors": {Before: 3, After: 15}, "UdpInDatagrams": {After: 9}, "UdpNoPorts": {Before: 4, After: 4}},
		DropReasons: map[string]uint64{"NETFILTER_DROP": 5},
		NIC:         &result.NIC{Interface: "eth0", Counters: map[string]result.Counter{"qdisc_drops": {After: 2}, "rx_packets": {After: 9}}},
	}
	for _, tt := range []struct {
		host *result.Host
		want string
	}{
		{h, "  receiver: cpu 31 % of a core, core 0 61 % (softirq 40), NETFILTER_DROP +5, UdpRcvbufErrors +12, qdisc_drops +2\n"},
		{&result.Host{Role: "sender"}, ""},
	} {
		var b strings.Builder
		Options{}.host(&b, tt.host)
		if b.String() != tt.want {
			t.Errorf("got %q, want %q", b.String(), tt.want)
		}
	}
}
