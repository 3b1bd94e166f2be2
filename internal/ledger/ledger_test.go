package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/result"
)

// account is a test as the tables here write it: flat.
type account struct {
	Packets, Arrived, Lost uint64
	IPv6                   bool
	Sender                 senderEnd
	Receiver               receiverEnd
}

type senderEnd struct {
	Host    *result.Host
	Raw     bool
	Refused uint64
	Super   int
}

type receiverEnd struct {
	Host        *result.Host
	Raw, Merged bool
	Drops       *uint64
	RingDrops   uint64
}

func (a account) test() Test {
	t := Test{
		Config: &result.Config{Protocol: "udp"},
		IPv6:   a.IPv6,
		Sender: &result.Sender{
			SentPackets: &result.SentPackets{Packets: a.Arrived + a.Lost},
			SentPacing:  &result.SentPacing{Refused: a.Sender.Refused, SuperPackets: a.Sender.Super},
		},
		Receiver: &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Packets: a.Packets, Unique: a.Arrived, Lost: a.Lost}},
	}
	if a.Receiver.Merged {
		t.Config.RX = "gro"
		t.Receiver.Arrivals = &result.Arrivals{MergedFrames: 1}
	}
	if a.Sender.Host != nil {
		h := *a.Sender.Host
		h.Socket = &result.Socket{Raw: a.Sender.Raw}
		t.SenderHost = &h
	}
	h := result.Host{}
	if a.Receiver.Host != nil {
		h = *a.Receiver.Host
	}
	h.Socket = &result.Socket{Raw: a.Receiver.Raw, Drops: a.Receiver.Drops, WindowAsked: 4 << 20, WindowGot: 208 << 10}
	if a.Receiver.RingDrops > 0 {
		h.Socket.RingDrops = &a.Receiver.RingDrops
	}
	t.ReceiverHost = &h
	return t
}

// anyCounters draws some of all counters that the ledger reads.
func anyCounters(t *rapid.T, label string, names ...string) map[string]result.Counter {
	c := map[string]result.Counter{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, label) {
		before := rapid.Uint64Range(0, 100).Draw(t, name)
		c[name] = result.Counter{Before: before, After: before + rapid.Uint64Range(0, 3000).Draw(t, name)}
	}
	return c
}

func anyHost(t *rapid.T, label string) *result.Host {
	if rapid.Bool().Draw(t, label+" unknown") {
		return nil
	}
	v4, v6 := Test{}, Test{IPv6: true}
	h := &result.Host{Counters: anyCounters(t, label+" counters", append(append(v4.stackCounters(), v6.stackCounters()...),
		"softnet_dropped", "UdpRcvbufErrors", "UdpInCsumErrors", "Udp6RcvbufErrors", "Udp6InCsumErrors", "IpReasmReqds")...)}
	if rapid.Bool().Draw(t, label+" nic") {
		names := append(append(append([]string{"tx_packets", "rx_packets", "tx_dropped", "rx_dropped", "rx_errors", "qdisc_drops", "qdisc_packets"},
			rxErrors...), txErrors...), driverErrors...)
		h.NIC = &result.NIC{Interface: "eth0", Counters: anyCounters(t, label+" nic counters", names...)}
	}
	if rapid.Bool().Draw(t, label+" asked") {
		h.DropReasons = map[string]uint64{}
		for _, r := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"QDISC_DROP", "NETFILTER_DROP", "CPU_BACKLOG", "UDP_CSUM", "NOT_SPECIFIED", "NEW_ONE"}), rapid.ID).Draw(t, "reasons") {
			h.DropReasons[r] = rapid.Uint64Range(0, 3000).Draw(t, r)
		}
	}
	return h
}

func anyAccount(t *rapid.T) account {
	a := account{
		Arrived: rapid.Uint64Range(0, 2000).Draw(t, "arrived"),
		Lost:    rapid.Uint64Range(0, 1000).Draw(t, "lost"),
		IPv6:    rapid.Bool().Draw(t, "v6"),
		Sender: senderEnd{
			Host: anyHost(t, "sender"), Raw: rapid.Bool().Draw(t, "raw out"), Refused: rapid.Uint64Range(0, 1000).Draw(t, "refused"),
			Super: rapid.IntRange(0, 64).Draw(t, "super"),
		},
		Receiver: receiverEnd{
			Host: anyHost(t, "receiver"), Raw: rapid.Bool().Draw(t, "raw in"), Merged: rapid.Bool().Draw(t, "merged"),
			RingDrops: rapid.Uint64Range(0, 1500).Draw(t, "program"),
		},
	}
	a.Packets = a.Arrived + rapid.Uint64Range(0, 100).Draw(t, "duplicates")
	if rapid.Bool().Draw(t, "socket") {
		n := rapid.Uint64Range(0, 1500).Draw(t, "socket drops")
		a.Receiver.Drops = &n
	}
	return a
}

// Whatever was counted, the ledger explains what was lost and no more, each stage
// once, in a packet's order, with evidence and a cure.
func TestLedgerSumsToWhatWasLost(t *testing.T) {
	order := map[string]int{"sender_qdisc": 1, "sender_nic": 2, "network": 3, "receiver_nic": 4, "receiver_backlog": 5,
		"receiver_filter": 6, "receiver_socket": 7, "receiver_program": 8}
	rapid.Check(t, func(t *rapid.T) {
		a := anyAccount(t)
		l := Settle(a.test())
		sum, last := l.Unexplained, 0
		for _, s := range l.Lost {
			switch {
			case order[s.Stage] <= last:
				t.Fatalf("%s stands out of order in %+v", s.Stage, l.Lost)
			case s.Evidence == "":
				t.Fatalf("no evidence: %+v", s)
			case s.AtMost == nil && s.Packets == 0:
				t.Fatalf("an empty stage: %+v", s)
			case s.AtMost != nil && (*s.AtMost <= s.Packets || *s.AtMost > s.Packets+l.Unexplained):
				t.Fatalf("a bound of %d on %d with %d unexplained", *s.AtMost, s.Packets, l.Unexplained)
			case strings.Contains(s.Advice, "%"):
				t.Fatalf("advice %q", s.Advice)
			}
			last = order[s.Stage]
			sum += s.Packets
		}
		if sum != a.Lost {
			t.Fatalf("%+v explains %d of %d", l, sum, a.Lost)
		}
	})
}

// More of one counter never makes its stage smaller.
func TestLedgerFollowsItsCounters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAccount(t)
		before := packets(Settle(a.test()), "receiver_program")
		a.Receiver.RingDrops += rapid.Uint64Range(0, 100).Draw(t, "more")
		if after := packets(Settle(a.test()), "receiver_program"); after < before {
			t.Fatalf("%d packets, then %d", before, after)
		}
	})
}

func packets(l *result.Ledger, stage string) uint64 {
	for _, s := range l.Lost {
		if s.Stage == stage {
			return s.Packets
		}
	}
	return 0
}

// host makes a host of eth0 with the rises of some counters.
func host(nic, net map[string]uint64, reasons map[string]uint64) *result.Host {
	risen := func(m map[string]uint64) map[string]result.Counter {
		c := map[string]result.Counter{}
		for name, n := range m {
			c[name] = result.Counter{Before: 7, After: 7 + n}
		}
		return c
	}
	return &result.Host{NIC: &result.NIC{Interface: "eth0", Counters: risen(nic)}, Counters: risen(net), DropReasons: reasons}
}

func ptr[T any](v T) *T { return &v }

type counted map[string]uint64

// The stages, each with what is proved and, behind it, what is allowed at most.
func TestLedgerNamesTheStage(t *testing.T) {
	none := uint64(0)
	for _, tt := range []struct {
		name    string
		account account
		want    map[string][2]uint64
	}{
		{"the socket", account{Receiver: receiverEnd{Drops: ptr(uint64(90))}},
			map[string][2]uint64{"receiver_socket": {90, 90}}},
		{"a wrong checksum that the socket counts with its own", account{Receiver: receiverEnd{
			Drops: ptr(uint64(90)), Host: host(nil, counted{"UdpInCsumErrors": 30, "UdpRcvbufErrors": 60}, nil)}},
			map[string][2]uint64{"receiver_socket": {60, 60}, "receiver_filter": {30, 30}}},
		{"another socket's drops", account{Receiver: receiverEnd{
			Drops: &none, Host: host(nil, counted{"UdpInCsumErrors": 0, "UdpRcvbufErrors": 5000}, counted{})}},
			nil},
		{"a firewall, by the kernel's reason", account{Receiver: receiverEnd{
			Drops: &none, Host: host(nil, nil, counted{"NETFILTER_DROP": 40, "SOCKET_FILTER": 7})}},
			map[string][2]uint64{"receiver_filter": {40, 40}}},
		{"a firewall behind a raw path", account{Receiver: receiverEnd{
			Raw: true, Host: host(nil, nil, counted{"NETFILTER_DROP": 40})}},
			nil},
		{"a ring", account{Receiver: receiverEnd{Raw: true, RingDrops: 100}},
			map[string][2]uint64{"receiver_program": {100, 100}}},
		{"the wire", account{
			Sender:   senderEnd{Host: host(counted{"tx_packets": 1010}, nil, nil)},
			Receiver: receiverEnd{Host: host(counted{"rx_packets": 910}, nil, nil)}},
			map[string][2]uint64{"network": {100, 100}}},
		{"the wire, beside a flood from the sender to somebody else", account{
			Sender:   senderEnd{Host: host(counted{"tx_packets": 9000}, nil, nil)},
			Receiver: receiverEnd{Host: host(counted{"rx_packets": 910}, nil, nil)}},
			map[string][2]uint64{"network": {90, 100}}},
		{"the wire, beside a flood to the receiver", account{
			Sender:   senderEnd{Host: host(counted{"tx_packets": 1010}, nil, nil)},
			Receiver: receiverEnd{Host: host(counted{"rx_packets": 9000}, nil, nil)}},
			nil},
		{"an XDP program of somebody's", account{
			Sender:   senderEnd{Host: host(counted{"tx_packets": 1010}, nil, counted{})},
			Receiver: receiverEnd{Drops: &none, Host: host(counted{"rx_packets": 1010, "ethtool_xdp_drops": 100}, nil, counted{})}},
			map[string][2]uint64{"receiver_filter": {100, 100}}},
		{"an XDP program of somebody's, beside a flood that the wire loses", account{
			Sender:   senderEnd{Host: host(counted{"tx_packets": 9000}, nil, counted{})},
			Receiver: receiverEnd{Drops: &none, Host: host(counted{"rx_packets": 8000, "ethtool_xdp_drops": 100}, nil, counted{})}},
			map[string][2]uint64{"network": {0, 100}, "receiver_filter": {0, 100}}},
		{"an XDP program of this test", account{Receiver: receiverEnd{Raw: true, Host: host(counted{"ethtool_xdp_drops": 900}, nil, counted{})}},
			nil},
		{"a qdisc that only this test uses", account{Sender: senderEnd{Host: host(counted{"qdisc_packets": 905, "qdisc_drops": 100, "tx_packets": 905}, nil, nil)}},
			map[string][2]uint64{"sender_qdisc": {100, 100}}},
		{"a qdisc that others use, too", account{Sender: senderEnd{Host: host(counted{"qdisc_packets": 1900, "qdisc_drops": 500}, nil, nil)}},
			map[string][2]uint64{"sender_qdisc": {0, 100}}},
		{"a qdisc that told of each", account{Sender: senderEnd{Raw: true, Refused: 300, Host: host(counted{"qdisc_drops": 300, "tx_packets": 1000}, nil, counted{"QDISC_DROP": 300})}},
			nil},
		{"a NIC with no room", account{Receiver: receiverEnd{Host: host(counted{"rx_packets": 900, "rx_missed_errors": 60, "ethtool_missed": 60}, nil, counted{})}},
			map[string][2]uint64{"receiver_nic": {60, 60}}},
		{"a NIC with no room, others on it", account{Receiver: receiverEnd{Host: host(counted{"rx_packets": 5000, "rx_missed_errors": 60}, nil, counted{})}},
			map[string][2]uint64{"receiver_nic": {0, 60}}},
		{"a backlog, by the kernel's reason", account{Receiver: receiverEnd{Host: host(nil, counted{"softnet_dropped": 5000}, counted{"CPU_BACKLOG": 70})}},
			map[string][2]uint64{"receiver_backlog": {70, 70}}},
		{"a backlog of others", account{Receiver: receiverEnd{Host: host(counted{"rx_packets": 900, "rx_dropped": 0}, counted{"softnet_dropped": 5000}, nil)}},
			nil},
		{"an unresolved neighbour", account{Sender: senderEnd{Host: host(nil, nil, counted{"NEIGH_FAILED": 80})}},
			map[string][2]uint64{"sender_qdisc": {80, 80}}},
		{"a driver without a reason", account{Sender: senderEnd{Host: host(counted{"tx_packets": 920, "tx_dropped": 80}, nil, counted{"NOT_SPECIFIED": 80})}},
			map[string][2]uint64{"sender_nic": {80, 80}}},
		{"fragments", account{Receiver: receiverEnd{Drops: &none, Host: host(counted{"rx_packets": 1900}, counted{"IpReasmReqds": 1900, "IpReasmFails": 50}, counted{"FRAG_REASM_TIMEOUT": 20})}},
			map[string][2]uint64{"receiver_filter": {50, 50}}},
		{"two causes", account{
			Sender:   senderEnd{Host: host(counted{"qdisc_drops": 40, "tx_packets": 960}, nil, counted{"QDISC_DROP": 40})},
			Receiver: receiverEnd{Drops: ptr(uint64(60)), Host: host(counted{"rx_packets": 960}, nil, counted{})}},
			map[string][2]uint64{"sender_qdisc": {40, 40}, "receiver_socket": {60, 60}}},
		{"merged datagrams, of which the socket counts one", account{
			Receiver: receiverEnd{Merged: true, Drops: ptr(uint64(2)), Host: host(nil, nil, counted{"SOCKET_RCVBUFF": 100, "NOT_SPECIFIED": 98})}},
			map[string][2]uint64{"receiver_socket": {100, 100}}},
		{"merged datagrams, beside a firewall", account{
			Receiver: receiverEnd{Merged: true, Drops: ptr(uint64(2)), Host: host(nil, nil, counted{"NETFILTER_DROP": 40, "SOCKET_RCVBUFF": 60})}},
			map[string][2]uint64{"receiver_filter": {40, 40}, "receiver_socket": {60, 60}}},
		{"merged datagrams, where the kernel was not asked", account{
			Receiver: receiverEnd{Merged: true, Drops: ptr(uint64(2))}},
			map[string][2]uint64{"receiver_socket": {2, 100}}},
		{"merged datagrams, of which another's socket drops its copies", account{
			Receiver: receiverEnd{Merged: true, Drops: &none, Host: host(nil, nil, counted{"SOCKET_RCVBUFF": 60})}},
			nil},
		{"a packet socket that frees what it read", account{
			Receiver: receiverEnd{Drops: &none, Host: host(counted{"rx_packets": 1000}, nil, counted{"NOT_SPECIFIED": 1000})}},
			nil},
		{"more drops than were lost", account{Receiver: receiverEnd{Drops: ptr(uint64(500))}},
			map[string][2]uint64{"receiver_socket": {100, 100}}},
	} {
		for _, v6 := range []bool{false, true} {
			a := tt.account
			a.IPv6 = v6
			if v6 && a.Receiver.Host != nil {
				net := map[string]result.Counter{}
				for name, c := range a.Receiver.Host.Counters {
					net[strings.Replace(strings.Replace(name, "Udp", "Udp6", 1), "Ip", "Ip6", 1)] = c
				}
				h := *a.Receiver.Host
				h.Counters = net
				a.Receiver.Host = &h
			}
			a.Lost, a.Arrived, a.Packets = 100, 900, 900
			got := map[string][2]uint64{}
			for _, s := range Settle(a.test()).Lost {
				got[s.Stage] = [2]uint64{s.Packets, s.Packets}
				if s.AtMost != nil {
					got[s.Stage] = [2]uint64{s.Packets, *s.AtMost}
				}
			}
			want := tt.want
			if want == nil {
				want = map[string][2]uint64{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, v6=%v (-want +got):\n%s", tt.name, v6, diff)
			}
		}
	}
}

func TestSharedCounters(t *testing.T) {
	for _, tt := range []struct{ n, others, want uint64 }{
		{100, 0, 100}, {100, housekeeping, 100}, {100, housekeeping + 1, 100 - housekeeping - 1}, {100, 5000, 0}, {100, math.MaxUint64, 0},
	} {
		if got := shared(tt.n, tt.others); got != tt.want {
			t.Errorf("%d beside %d others: %d, want %d", tt.n, tt.others, got, tt.want)
		}
	}
}
