package ledger

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"linerate/internal/result"
)

// with describes a host for the limit: its cores as user, system, softirq and
// steal shares, the rest idle.
func with(cores ...[4]float64) *result.Host {
	h := &result.Host{NIC: &result.NIC{Interface: "eth0", Qdisc: "tbf"}, CPU: &result.CPU{}}
	for i, c := range cores {
		h.CPU.Cores = append(h.CPU.Cores, result.Core{
			Core: i, User: c[0], System: c[1], Softirq: c[2], Steal: c[3], Idle: 1 - c[0] - c[1] - c[2] - c[3],
		})
	}
	return h
}

var (
	idle    = with([4]float64{0.1, 0.1}, [4]float64{})
	at500   = &result.Config{Protocol: "udp", RateBps: 500e6, Layer: "l4", FrameBytes: 1518}
	atMax   = &result.Config{Protocol: "udp", Rate: "max", FrameBytes: 1518}
	tcpMax  = &result.Config{Protocol: "tcp", Rate: "max"}
	paced   = &result.Config{Protocol: "tcp", Rate: "max", PaceBps: 100e6, Flows: 4}
	shaping = func() *result.Host {
		h := with([4]float64{0.1, 0.1})
		h.NIC.Counters = map[string]result.Counter{"qdisc_overlimits": {Before: 0, After: 9000}, "qdisc_drops": {Before: 0, After: 0}}
		return h
	}()
	gigabit = func() *result.Host {
		h := with([4]float64{0.1, 0.1})
		h.NIC.SpeedBps = 1e9
		return h
	}()
)

// buffering gives a host a receive buffer.
func buffering(h *result.Host, asked, got int) *result.Host {
	h.Socket = &result.Socket{WindowAsked: asked, WindowGot: got}
	return h
}

// readingOn says on which core a host's busiest thread runs.
func readingOn(core int, h *result.Host) *result.Host {
	h.CPU.BusiestThreadCore = &core
	return h
}

// waiting says for how much of the time a host's busiest thread, on core 0, waited for
// its turn. It had half of it.
func waiting(share float64, h *result.Host) *result.Host {
	h.CPU.BusiestThread, h.CPU.BusiestThreadWaited = ptr(0.5), &share
	return readingOn(0, h)
}

func left(l4 float64, change func(*result.SentPacing)) *result.Sender {
	s := &result.Sender{Seconds: 10, Rate: &result.Rate{PPS: l4 / 8 / 1472, L4Bps: l4, L1Bps: l4 * 1538 / 1472, L2Bps: l4 * 1518 / 1472},
		SentPackets: &result.SentPackets{Packets: uint64(10 * l4 / 8 / 1472)}, SentPacing: &result.SentPacing{}}
	if change != nil {
		change(s.SentPacing)
	}
	return s
}

func came(unique, lost uint64) *result.Receiver {
	return &result.Receiver{Seconds: 10, ArrivedPackets: &result.ArrivedPackets{Packets: unique, Unique: unique, Lost: lost}}
}

func lostAt(stage string, n uint64) *result.Ledger {
	return &result.Ledger{Lost: []result.Stage{{Stage: stage, Packets: n, Evidence: "a counter"}}}
}

func stream(l4 float64, tcp result.SentTCP) *result.Sender {
	return &result.Sender{Seconds: 10, Rate: &result.Rate{L4Bps: l4}, SentTCP: &tcp}
}

func TestLimitNamesWhatHeldTheRate(t *testing.T) {
	throttled := with([4]float64{0.3, 0.2})
	throttled.Quota = &result.Quota{Cores: 0.5, ThrottledPeriods: 80, ThrottledS: 4}
	allowance := with([4]float64{0.1, 0.1})
	allowance.NIC.Counters = map[string]result.Counter{"ethtool_allowance_pps": {Before: 1, After: 900}}
	short := func(p *result.SentPacing) { p.Shortfall = 1000; p.LatePackets = 5 }
	refusing := func(p *result.SentPacing) { p.Refused = 250_000 }
	const rtt = 1_400_000
	for _, tt := range []struct {
		name string
		test Test
		lost *result.Ledger
		by   string
		says []string
	}{
		{"the rate asked for", Test{Config: at500, Sender: left(500e6, nil), SenderHost: idle, ReceiverHost: with([4]float64{0.1, 0.1, 0.41})}, nil,
			"rate", []string{"(500 Mbit/s)", "receiver's busiest core was at 61 %, softirq on core 0"}},
		{"the rate asked for, with a little lost", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(1000_000, 2000)}, lostAt("receiver_socket", 2000),
			"rate", nil},
		{"a sender's core", Test{Config: at500, Sender: left(300e6, short), SenderHost: with([4]float64{0.2, 0.75}, [4]float64{})}, nil,
			"sender_cpu", []string{"core 0 was at 95 %", "system"}},
		{"a sender's core that a spinner shares", Test{Config: atMax, Sender: left(300e6, nil), SenderHost: func() *result.Host {
			h := with([4]float64{0.8, 0.2})
			h.CPU.BusiestThread = ptr(0.4)
			return h
		}()}, nil, "sender_cpu", []string{"our busiest thread had 40 %"}},
		{"a sender's core of which a spinner has less, and keeps it waiting", Test{Config: at500, Sender: left(430e6, short), SenderHost: waiting(0.4, with([4]float64{0.5, 0.5}))}, nil,
			"sender_cpu", []string{"core 0 was at 100 %", "; our busiest thread had 50 % and waited for its turn 40 % of the time (end what else runs there, or run before it by --realtime)"}},
		{"a sender of TCP that is kept waiting", Test{Config: tcpMax, Sender: stream(10e9, result.SentTCP{}), SenderHost: waiting(0.4, with([4]float64{0.5, 0.5}))}, nil,
			"sender_cpu", []string{"waited for its turn 40 % of the time (end what else runs there)"}},
		{"a sender's core at its end by its own packets", Test{Config: at500, Sender: left(300e6, short), SenderHost: waiting(0.4, with([4]float64{0.1, 0.5, 0.4}))}, nil,
			"sender_cpu", []string{"core 0 was at 100 %, most of it system (50 %)"}},
		{"a sender that others kept waiting now and then", Test{Config: at500, Sender: left(450e6, short), SenderHost: waiting(0.1, with([4]float64{0.3, 0.3}))}, nil,
			"pacing", []string{"1000 packets of 500 Mbit/s", "waited for its turn 10 % of the time"}},
		{"a core that the hypervisor took", Test{Config: atMax, Sender: left(300e6, nil), SenderHost: with([4]float64{0.2, 0.1, 0, 0.7})}, nil,
			"sender_cpu", []string{"steal"}},
		{"a sender's quota", Test{Config: atMax, Sender: left(300e6, nil), SenderHost: throttled}, nil,
			"cpu_quota", []string{"0.50 cores", "4.0 s of 10.0 s"}},
		{"a receiver's quota", Test{Config: at500, Sender: left(500e6, nil), SenderHost: idle, Receiver: came(900, 100), ReceiverHost: throttled}, lostAt("receiver_socket", 100),
			"cpu_quota", []string{"receiver"}},
		{"a shaper", Test{Config: atMax, Sender: left(95e6, nil), SenderHost: shaping}, nil,
			"sender_qdisc", []string{"tbf qdisc of eth0", "9000 times"}},
		{"the link", Test{Config: atMax, Sender: left(956e6, nil), SenderHost: gigabit}, nil,
			"link", []string{"1 Gbit/s", "1518 bytes"}},
		{"a device without room", Test{Config: atMax, Sender: left(300e6, refusing), SenderHost: idle}, nil,
			"nic", []string{"no room"}},
		{"a cloud's allowance", Test{Config: atMax, Sender: left(300e6, refusing), SenderHost: allowance}, nil,
			"nic", []string{"allowance", "1 to 900"}},
		{"a sender that was away", Test{Config: at500, Sender: left(450e6, short), SenderHost: idle}, nil,
			"pacing", []string{"1000 packets of 500 Mbit/s"}},
		{"a receive buffer", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100), ReceiverHost: idle}, lostAt("receiver_socket", 100),
			"receiver_buffer", []string{"100 of 1000 packets (10 %)"}},
		{"a receive buffer that is too small for any receiver", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100),
			ReceiverHost: buffering(with([4]float64{0, 0.1, 0.88}), 64<<10, 64<<10)}, lostAt("receiver_socket", 100),
			"receiver_buffer", []string{"64 KiB holds less than 10 ms", "-w 8M"}},
		{"a receive buffer that was not granted", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100),
			ReceiverHost: buffering(with([4]float64{0.1}), 4<<20, 208<<10)}, lostAt("receiver_socket", 100),
			"receiver_buffer", []string{"208 KiB (asked 4 MiB)", "sysctl -w net.core.rmem_max=4194304"}},
		{"a core where the receiver does not read", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100),
			ReceiverHost: buffering(readingOn(1, with([4]float64{0.9, 0.1}, [4]float64{0.2})), 4<<20, 4<<20)}, lostAt("receiver_socket", 100),
			"receiver_buffer", []string{"though its processor had time"}},
		{"the core where the receiver reads", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100),
			ReceiverHost: buffering(readingOn(1, with([4]float64{0.2}, [4]float64{0.8, 0.2})), 4<<20, 4<<20)}, lostAt("receiver_socket", 100),
			"receiver_cpu", []string{"core 1 was at 100 %"}},
		{"a receiver's core", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100), ReceiverHost: with([4]float64{0, 0.1, 0.88})}, lostAt("receiver_socket", 100),
			"receiver_cpu", []string{"softirq"}},
		{"a ring", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100), ReceiverHost: idle}, lostAt("receiver_program", 100),
			"receiver_ring", nil},
		{"a receiver alone that lost something", Test{Config: atMax, Receiver: came(900, 100), ReceiverHost: with([4]float64{0.9, 0.1})}, nil,
			"receiver_cpu", nil},
		{"a backlog", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100), ReceiverHost: idle}, lostAt("receiver_backlog", 100),
			"receiver_cpu", nil},
		{"the network", Test{Config: atMax, Sender: left(500e6, nil), Receiver: came(900, 100), SenderHost: idle}, lostAt("network", 100),
			"network", nil},
		{"nothing to do with the rate: a firewall", Test{Config: at500, Sender: left(500e6, nil), Receiver: came(900, 100)}, lostAt("receiver_filter", 100),
			"rate", nil},
		{"a pace", Test{Config: paced, SenderHost: idle, Sender: stream(390e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), SndbufLimitedNS: ptr(int64(9e9)), MaxCwndBytes: ptr(uint64(1 << 20)), RTTNS: &result.RTT{Mean: rtt}})}, nil,
			"rate", []string{"the pace asked for (--pace 100 Mbit/s of each stream)"}},
		{"a window beneath a pace", Test{Config: paced, SenderHost: idle, Sender: stream(190e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), RwndLimitedNS: ptr(int64(9e9)), MaxSendWindow: ptr(uint64(33280)), MinRTTNS: ptr(int64(rtt))})}, nil,
			"window", nil},
		{"a window", Test{Config: tcpMax, SenderHost: idle, Sender: stream(190e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), RwndLimitedNS: ptr(int64(9e9)), MaxSendWindow: ptr(uint64(33280)), MinRTTNS: ptr(int64(rtt))})}, nil,
			"window", []string{"32.5 KiB over 1.4 ms allows 190.2 Mbit/s", "-w 256K"}},
		{"a send buffer", Test{Config: tcpMax, SenderHost: idle, Sender: stream(90e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), SndbufLimitedNS: ptr(int64(9e9)), MaxCwndBytes: ptr(uint64(16 << 10)), RTTNS: &result.RTT{Mean: rtt}})}, nil,
			"window", []string{"send buffer"}},
		{"a peer that reads slowly", Test{Config: tcpMax, Sender: stream(20e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), RwndLimitedNS: ptr(int64(9e9)), MaxSendWindow: ptr(uint64(4 << 20)), MinRTTNS: ptr(int64(rtt))})}, nil,
			"peer", []string{"did not read"}},
		{"a receiver's core behind its window", Test{Config: tcpMax, ReceiverHost: with([4]float64{0.9, 0.1}), Sender: stream(20e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), RwndLimitedNS: ptr(int64(9e9)), MaxSendWindow: ptr(uint64(4 << 20)), MinRTTNS: ptr(int64(rtt))})}, nil,
			"receiver_cpu", nil},
		{"segments that were lost", Test{Config: tcpMax, SenderHost: idle, Sender: stream(20e6, result.SentTCP{
			BusyNS: ptr(int64(10e9)), Retransmits: ptr(uint64(77)), MaxCwndBytes: ptr(uint64(30 << 10))})}, nil,
			"network", []string{"77 segments"}},
		{"one segment of millions that was lost", Test{Config: &result.Config{Protocol: "tcp", MSS: 1448}, SenderHost: idle, Sender: stream(10e9, result.SentTCP{
			BusyNS: ptr(int64(10e9)), Retransmits: ptr(uint64(1)), RTTNS: &result.RTT{Mean: 200_000}})}, nil,
			"", nil},
		{"a sender that changes its core", Test{Config: tcpMax, Sender: stream(10e9, result.SentTCP{}), SenderHost: func() *result.Host {
			h := readingOn(1, with([4]float64{0, 0.6}, [4]float64{0, 0.6}))
			h.CPU.BusiestThread = ptr(0.93)
			return h
		}()}, nil, "sender_cpu", []string{"busiest thread had 93 % of a core"}},
		{"a lone receiver at a rate unknown", Test{Config: &result.Config{Protocol: "udp"}, Receiver: came(1000, 0), ReceiverHost: idle}, nil, "", nil},
		{"a lone receiver that took all, on a busy machine", Test{Config: &result.Config{Protocol: "udp"}, Receiver: came(1000, 0),
			ReceiverHost: with([4]float64{0.9, 0.1})}, nil, "", nil},
		{"nothing is known", Test{Config: atMax}, nil, "", nil},
	} {
		got := Limit(tt.test, tt.lost)
		if got == nil {
			got = &result.Limit{}
		}
		if got.By != tt.by {
			t.Errorf("%s: limited by %q (%s), want %q", tt.name, got.By, got.Why, tt.by)
		}
		for _, part := range tt.says {
			if !strings.Contains(got.Why, part) {
				t.Errorf("%s: %q does not say %q", tt.name, got.Why, part)
			}
		}
	}
}

// Who works on the test's own packets keeps no thread of it from its core.
func TestCrowdedByOthersAlone(t *testing.T) {
	test := Test{Config: at500}
	for _, tt := range []struct {
		host *result.Host
		want bool
	}{
		{waiting(0.4, with([4]float64{0.5, 0.5})), true},
		{waiting(0.4, with([4]float64{0, 0.6, 0.4})), false},
		{waiting(0.04, with([4]float64{0.5, 0.5})), false},
		{with([4]float64{0.5, 0.5}), false},
		{nil, false},
	} {
		if says := test.crowded(tt.host); (says != "") != tt.want {
			t.Errorf("crowded: %q, want so %v", says, tt.want)
		}
	}
}

// Whatever is known, the limit is one of the report's and says why.
func TestLimitIsOfTheReport(t *testing.T) {
	kinds := "rate pacing sender_cpu sender_qdisc receiver_cpu receiver_buffer receiver_ring cpu_quota nic link network window peer"
	rapid.Check(t, func(t *rapid.T) {
		a := anyAccount(t)
		test := a.test()
		test.Config = rapid.SampledFrom([]*result.Config{at500, atMax, tcpMax}).Draw(t, "config")
		if rapid.Bool().Draw(t, "rate known") {
			test.Sender = left(rapid.Float64Range(0, 1e9).Draw(t, "rate"), func(p *result.SentPacing) {
				p.Refused = a.Sender.Refused
				p.Shortfall = rapid.Uint64Range(0, 10).Draw(t, "shortfall")
			})
		}
		if l := Limit(test, Settle(test)); l != nil && (!strings.Contains(" "+kinds+" ", " "+l.By+" ") || l.Why == "" || strings.Contains(l.Why, "%!")) {
			t.Fatalf("limit %+v", l)
		}
	})
}
