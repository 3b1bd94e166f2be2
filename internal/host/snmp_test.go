package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const snmpText = `Ip: Forwarding DefaultTTL InReceives InHdrErrors
Ip: 2 64 446576 3
IcmpMsg: InType3
IcmpMsg: 106737
Udp: InDatagrams NoPorts RcvbufErrors Unheard
Udp: 18446744073709551615 7 -1 4
UdpLite: InDatagrams NoPorts
UdpLite: 1 1
`

func TestParseSNMP(t *testing.T) {
	got := map[string]uint64{}
	parseSNMP(snmpText, got)
	parseSNMP("TcpExt: A IPReversePathFilter\nTcpExt: 1 12\n", got)
	parseSNMP6("Ip6InReceives                   \t17\nUdp6NoPorts 2\nIcmp6OutType133 9\n", got)
	want := map[string]uint64{
		"IpInReceives": 446576, "IpInHdrErrors": 3, "UdpInDatagrams": 1<<64 - 1, "UdpNoPorts": 7,
		"TcpExtIPReversePathFilter": 12, "Ip6InReceives": 17, "Udp6NoPorts": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseSNMP(f *testing.F) {
	f.Add(snmpText)
	f.Add("Udp: InDatagrams\nUdp: 1 2\n")
	f.Add("Udp6NoPorts 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := map[string]uint64{}
		parseSNMP(text, got)
		parseSNMP6(text, got)
		if len(got) > len(strings.Fields(text)) {
			t.Errorf("%d counters of %q", len(got), text)
		}
		for name := range got {
			if !netCounters[name] {
				t.Errorf("an unknown counter %q", name)
			}
		}
	})
}

func TestClassify(t *testing.T) {
	got := map[string]uint64{"rx_packets": 5}
	classify(map[string]uint64{"rx_missed_errors": 3, "rx_fifo_errors": 2, "rx_pause_ctrl_phy": 9, "rx0_kicks": 1, "rx_queue_0_xdp_drops": 4, "rx_queue_1_xdp_drops": 5}, got)
	want := map[string]uint64{"rx_packets": 5, "ethtool_missed": 3, "ethtool_pause_rx": 9, "ethtool_xdp_drops": 9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
