package ledger

import (
	"strings"
	"testing"

	"linerate/internal/result"
)

func TestDisturbances(t *testing.T) {
	clean := account{
		Packets: 900, Arrived: 900, Lost: 100,
		Sender:   senderEnd{Host: host(counted{"tx_packets": 1010, "ethtool_pause_rx": 0}, nil, nil)},
		Receiver: receiverEnd{Host: host(counted{"rx_packets": 910}, nil, nil)},
	}
	for _, tt := range []struct {
		name   string
		change func(s, r *result.Host)
		want   string
	}{
		{"a clean run", func(s, r *result.Host) {}, ""},
		{"others at the sender", func(s, r *result.Host) { s.NIC.Counters["tx_packets"] = result.Counter{After: 5000} },
			"4000 of 5000 frames that left eth0"},
		{"others at the receiver", func(s, r *result.Host) { r.NIC.Counters["rx_packets"] = result.Counter{After: 5000} },
			"4000 of 5000 frames that came to eth0"},
		{"fragments at the sender", func(s, r *result.Host) {
			s.NIC.Counters["tx_packets"] = result.Counter{After: 3000}
			s.Counters = map[string]result.Counter{"IpFragCreates": {After: 3000}}
		}, ""},
		{"pause frames", func(s, r *result.Host) { s.NIC.Counters["ethtool_pause_rx"] = result.Counter{Before: 3, After: 9} },
			"flow control paused the link: ethtool_pause_rx 3 to 9"},
		{"half duplex", func(s, r *result.Host) { r.NIC.HalfDuplex = true }, "half duplex"},
		{"LRO", func(s, r *result.Host) { r.NIC.LRO = true }, "ethtool -K eth0 lro off"},
		{"a clock that was set", func(s, r *result.Host) { r.ClockStepNS = ptr(int64(-2e9)) }, "set by -2s"},
		{"MTUs", func(s, r *result.Host) { s.NIC.MTU, r.NIC.MTU = 9000, 1500 }, "9000 on eth0 of the sender and 1500"},
		{"speeds", func(s, r *result.Host) { s.NIC.SpeedBps, r.NIC.SpeedBps = 1e10, 1e9 }, "10 Gbit/s and eth0 of the receiver at 1 Gbit/s"},
		{"a speed that changed", func(s, r *result.Host) { s.NIC.SpeedBps, s.NIC.SpeedEndBps = 1e9, 1e8 }, "changed its speed from 1 Gbit/s to 100 Mbit/s"},
		{"a quota", func(s, r *result.Host) { s.Quota = &result.Quota{Cores: 1, ThrottledPeriods: 3, ThrottledS: 0.1} }, "held the sender 3 times"},
		{"heat", func(s, r *result.Host) { s.CPU = &result.CPU{ThermalThrottles: ptr(uint64(2))} }, "slowed 2 times"},
		{"steal", func(s, r *result.Host) { s.CPU = &result.CPU{Cores: []result.Core{{Core: 1, Steal: 0.12, Idle: 0.88}}} }, "took core 1 of the sender away for 12 %"},
	} {
		test := clean.test()
		test.SenderHost, test.ReceiverHost = clone(test.SenderHost), clone(test.ReceiverHost)
		test.Sender.Seconds = 10
		tt.change(test.SenderHost, test.ReceiverHost)
		got := Disturbances(test)
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
			t.Errorf("%s: %q, want one with %q", tt.name, got, tt.want)
		}
	}
}

// BC-049: where nothing arrived, what the kernel dropped in its place is told.
func TestNothingArrivedButDrops(t *testing.T) {
	nothing := func(reasons counted) Test {
		return Test{
			Receiver:     &result.Receiver{ArrivedPackets: &result.ArrivedPackets{LossIsLowerBound: true}},
			ReceiverHost: &result.Host{DropReasons: reasons},
		}
	}
	got := Disturbances(nothing(counted{"OTHERHOST": 50}))
	if len(got) != 1 || !strings.Contains(got[0], "dropped by the kernel of the receiver for OTHERHOST 50: ") || !strings.Contains(got[0], "VLAN") {
		t.Errorf("%q, want one of 50 with the tag of a VLAN", got)
	}
	if got := Disturbances(nothing(counted{})); len(got) != 0 {
		t.Errorf("of no drops: %q", got)
	}
}

// clone copies as much of a host as the table changes.
func clone(h *result.Host) *result.Host {
	n := *h.NIC
	n.Counters = map[string]result.Counter{}
	for name, c := range h.NIC.Counters {
		n.Counters[name] = c
	}
	c := *h
	c.NIC = &n
	return &c
}
