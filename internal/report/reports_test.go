package report

import "linerate/internal/result"

// The reports below are fixed and reconcile: what was sent is what came once and
// what was lost.

func ptr[T any](v T) *T { return &v }

// rateOf is the rate of packets of 8972 bytes of UDP payload in 9018-byte frames.
func rateOf(pps float64) *result.Rate {
	return &result.Rate{PPS: pps, L1Bps: pps * 8 * 9038, L2Bps: pps * 8 * 9018, L3Bps: pps * 8 * 9000, L4Bps: pps * 8 * 8972}
}

func sendReport() *result.Report {
	r := &result.Report{
		Schema: result.Schema, Linerate: "v0.1.0", Command: "send", Started: "2026-11-30T10:00:00.000000001Z",
		Config: &result.Config{
			Protocol: "udp", Path: "ring", PathReason: "fastest that runs here; afxdp needs CAP_BPF", Peer: "none", Direction: "forward",
			Interface: "eth0", Source: "10.77.0.1", Destination: "10.77.0.2:5201", SourceMAC: "02:00:00:00:00:01", NextHopMAC: "02:00:00:00:00:02",
			RateBps: 500e6, RatePps: 500e6 / (8 * 8972), Rate: "500M", Layer: "l4", FrameBytes: 9018, PayloadBytes: 8972, Flows: 1, Burst: 1, DurationS: 3,
		},
		Sender: &result.Sender{PayloadBytes: 20898 * 8972, Seconds: 3, Rate: rateOf(6966), SentPackets: &result.SentPackets{Packets: 20898}, SentPacing: &result.SentPacing{RateErrorPPM: ptr(0.31), Cadence: result.Cadence{GapNS: &result.Gaps{Percentiles: result.Percentiles{P50: 143_600, P99: 145_100, P999: 151_000, Max: 2_100_000}, Within10Percent: ptr(0.9987)}, LongestBurst: 1,
			WorstWindow: map[string]result.Window{
				"1s":    {Windows: 3, Least: rateOf(6965), Most: rateOf(6967), Deviation: ptr(0.0002)},
				"100ms": {Windows: 30, Least: rateOf(6960), Most: rateOf(6970), Deviation: ptr(0.001)},
			}}}},
	}
	for i := range 3 {
		r.Intervals = append(r.Intervals, result.Interval{
			StartS: float64(i), EndS: float64(i + 1),
			Sender: &result.SenderInterval{PayloadBytes: 6966 * 8972, Seconds: 1, Rate: rateOf(6966.1), IntervalSent: &result.IntervalSent{Packets: 6966}},
		})
	}
	return r
}

// shortReport is of a sender that could not keep up.
func shortReport() *result.Report {
	r := sendReport()
	r.Config.VLAN, r.Config.Flows, r.Config.Format, r.Config.Burst = ptr(5), 4, "iperf3", 8
	r.Intervals[1].Sender.Rate, r.Intervals[1].Sender.LatePackets = rateOf(3000), 41
	s := r.Sender
	s.Packets, s.PayloadBytes, s.Rate, s.RateErrorPPM = 13064, 13064*8972, rateOf(4354.67), ptr(-374_900.0)
	s.Shortfall, s.Refused, s.LatePackets, s.LongestBurst = 7834, 12, 41, 96
	s.GapNS.P99 = 1_900_000
	r.Limit = &result.Limit{By: "sender_cpu", Why: "the sending thread was busy 99 % of the time"}
	r.Hosts = []result.Host{{Role: "sender", CPU: &result.CPU{Process: 0.99, User: 0.02, System: 0.97}}}
	return r
}

// slowReport is of a test over TCP that got less than the rate asked for.
func slowReport() *result.Report {
	return &result.Report{
		Config: &result.Config{Protocol: "tcp", Peer: "linerate", Direction: "forward", RateBps: 40e6, Layer: "l4"},
		Sender: &result.Sender{
			PayloadBytes: 500_000, Seconds: 1, Rate: &result.Rate{L4Bps: 4e6}, SentTCP: &result.SentTCP{ShortfallBytes: ptr(uint64(4_500_000))},
		},
		Receiver: &result.Receiver{PayloadBytes: 500_000, Seconds: 1, Rate: &result.Rate{L4Bps: 4e6}},
	}
}

// maxReport is of an unpaced sender over a mix of sizes.
func maxReport() *result.Report {
	r := sendReport()
	c := r.Config
	c.RateBps, c.RatePps, c.Rate, c.IMIX, c.FrameBytes, c.PayloadBytes = 0, 0, "max", "64:7,594:4,1518:1", 0, 0
	c.Gateway, c.WindowAsked, c.WindowGot = "10.77.0.254", 4<<20, 208<<10
	r.Sender.RateErrorPPM, r.Sender.Rate, r.Sender.SuperPackets = nil, rateOf(1_234_567), 44
	for i := range r.Intervals {
		r.Intervals[i].Sender.Rate = rateOf(1_234_567)
	}
	r.Intervals[2].EndS = 3.25
	r.Hosts = []result.Host{
		{Role: "sender", CPU: &result.CPU{Process: 0.23, User: 0.01, System: 0.22, Softirq: ptr(0.11), BusiestCore: ptr(0.98)}},
		{Role: "receiver"},
	}
	return r
}

func cleanReport() *result.Report {
	r := &result.Report{
		Schema: result.Schema, Linerate: "v0.1.0", Command: "recv", Started: "2026-11-30T10:00:00.000000001Z",
		Config: &result.Config{
			Protocol: "udp", RX: "ebpf", Peer: "none", Direction: "forward", Interface: "eth0", Destination: "0.0.0.0:5201", DurationS: 10,
		},
		Receiver: &result.Receiver{PayloadBytes: 20898 * 8972, Seconds: 3, Rate: rateOf(6966), ArrivedPackets: &result.ArrivedPackets{Packets: 20898, Unique: 20898, LossRatio: ptr(0.0), JitterNS: ptr(int64(1200))}, Arrivals: &result.Arrivals{UniquePayloadBytes: 20898 * 8972, IPDVNS: &result.Percentiles{P50: 900, P99: 4000, P999: 9000, Max: 11_000}, DelayNS: &result.Delay{Min: 31_000, P50: 38_000, P99: 61_000, P999: 800_000, Max: 1_900_000, Clock: "same"}}},
		Hosts:    []result.Host{{Role: "receiver", CPU: &result.CPU{Process: 0.3, User: 0.02, System: 0.28}}},
	}
	for i := range 3 {
		r.Intervals = append(r.Intervals, result.Interval{
			StartS: float64(i), EndS: float64(i + 1),
			Receiver: &result.ReceiverInterval{PayloadBytes: 6966 * 8972, Seconds: 1, Rate: rateOf(6966), IntervalArrived: &result.IntervalArrived{Packets: 6966, Unique: 6966, UniquePayloadBytes: 6966 * 8972, JitterNS: ptr(int64(1200))}},
		})
	}
	// Before the first packet there is no rate and no jitter.
	r.Intervals[0].Receiver = &result.ReceiverInterval{Seconds: 1, IntervalArrived: &result.IntervalArrived{}}
	return r
}

func lossyReport() *result.Report {
	r := cleanReport()
	r.Intervals[1].Receiver.Lost = 6
	v := r.Receiver
	v.Packets, v.Unique, v.Lost, v.LossRatio = 20883, 20880, 18, ptr(18.0/20898)
	v.Duplicates, v.Reordered, v.ReorderExtentMax, v.BeyondWindow, v.Foreign = 2, 5, 3, 1, 7
	v.Gaps, v.LossBurst, v.Rate = 3, &result.LossBurst{Max: 12, P50: 3}, rateOf(6960)
	v.PayloadBytes, v.UniquePayloadBytes = 20883*8972, 20880*8972
	v.DelayNS.Clock = "relative"
	v.MergedFrames, v.MergedPackets = 900, 20_100
	v.Flows = []result.Receiver{
		{Flow: ptr(uint16(0)), Rate: rateOf(3480), ArrivedPackets: &result.ArrivedPackets{Packets: 10443, Unique: 10440, Duplicates: 2, Lost: 9, LossRatio: ptr(9.0 / 10449), JitterNS: ptr(int64(1300))}, Arrivals: &result.Arrivals{BeyondWindow: 1, Reordered: 5}},
		{Flow: ptr(uint16(1)), Rate: rateOf(3480), ArrivedPackets: &result.ArrivedPackets{Packets: 10440, Unique: 10440, Lost: 9, LossRatio: ptr(9.0 / 10449), JitterNS: ptr(int64(1100))}, Arrivals: &result.Arrivals{}},
		{Flow: ptr(uint16(2)), ArrivedPackets: &result.ArrivedPackets{}, Arrivals: &result.Arrivals{}},
	}
	return r
}

// corruptReport is of one packet that came with the wrong payload.
func corruptReport() *result.Report {
	r := cleanReport()
	r.Intervals, r.Receiver.Corrupt, r.Receiver.DelayNS.Clock = nil, ptr(uint64(1)), "synchronised"
	return r
}

func manyFlowsReport() *result.Report {
	r := cleanReport()
	r.Intervals = nil
	for i := range 20 {
		r.Receiver.Flows = append(r.Receiver.Flows, result.Receiver{Flow: ptr(uint16(i)), Rate: rateOf(348), ArrivedPackets: &result.ArrivedPackets{Packets: 1000, Unique: 1000, Lost: uint64(i / 17), LossRatio: ptr(float64(i/17) / 1001)}, Arrivals: &result.Arrivals{}})
	}
	return r
}

func allLostReport() *result.Report {
	r := cleanReport()
	r.Intervals, r.Hosts = nil, nil
	r.Receiver = &result.Receiver{Seconds: 3, ArrivedPackets: &result.ArrivedPackets{Lost: 20898, LossRatio: ptr(1.0)}, Arrivals: &result.Arrivals{Gaps: 1, LossBurst: &result.LossBurst{Max: 20898, P50: 20898}}}
	return r
}

func lowerBoundReport() *result.Report {
	r := lossyReport()
	r.Intervals, r.Receiver.Flows = nil, nil
	r.Receiver.LossIsLowerBound = true
	return r
}

// iperf2Report is of a stock server, which tells loss and copies in one.
func iperf2Report() *result.Report {
	flow := func(n uint16, lost, late uint64) result.Receiver {
		return result.Receiver{
			Flow: &n, PayloadBytes: 1450 * (500 - lost), Seconds: 1, Rate: rateOf(float64(500 - lost)),
			ArrivedPackets: &result.ArrivedPackets{
				Packets: 500 - lost, Unique: 500 - lost, Lost: lost, LossRatio: ptr(float64(lost) / 500),
				LossIsLowerBound: late > 0, OutOfOrder: &late, JitterNS: ptr(int64(4000)),
			},
		}
	}
	r := flow(0, 0, 3)
	r.Flow, r.Flows = nil, []result.Receiver{flow(0, 0, 3), flow(1, 0, 0)}
	r.Packets, r.Unique = 1000, 1000
	return &result.Report{
		Config: &result.Config{
			Protocol: "udp", Path: "packet", Peer: "iperf2", Direction: "forward", Interface: "eth0", Destination: "10.0.0.2:5001",
			PayloadBytes: 1450, FrameBytes: 1496, Flows: 2,
		},
		Sender:   &result.Sender{PayloadBytes: 1_450_000, Seconds: 1, SentPackets: &result.SentPackets{Packets: 1000}},
		Receiver: &r,
	}
}

// noCountReport is of a run without gaps whose end is unknown.
func noCountReport() *result.Report {
	r := cleanReport()
	r.Intervals = nil
	r.Receiver.LossIsLowerBound, r.Receiver.LossRatio = true, nil
	return r
}

func nothingReport() *result.Report {
	r := cleanReport()
	r.Intervals, r.Hosts = nil, nil
	r.Receiver = &result.Receiver{Seconds: 10, ArrivedPackets: &result.ArrivedPackets{LossIsLowerBound: true}, Arrivals: &result.Arrivals{Foreign: 3}}
	return r
}

// ledgerReport is of both ends of a test.
func ledgerReport() *result.Report {
	r := cleanReport()
	r.Config, r.Intervals = sendReport().Config, nil
	r.Sender = sendReport().Sender
	r.Receiver.Packets, r.Receiver.Unique, r.Receiver.Lost, r.Receiver.LossRatio = 18412, 18412, 2486, ptr(2486.0/20898)
	r.Ledger = &result.Ledger{
		Sent: new(uint64(20898)), Arrived: 18412, Unexplained: 4,
		Lost: []result.Stage{
			{Stage: "receiver_socket", Host: "receiver", Packets: 2471, Evidence: "buffer of 208 KiB overflowed", Advice: "sysctl -w net.core.rmem_max=4194304"},
			{Stage: "network", Packets: 11, AtMost: ptr(uint64(15)), Evidence: "between eth0 here and eth0 there"},
		},
	}
	r.Limit = &result.Limit{By: "receiver_buffer", Why: "208 KiB hold 1.7 ms at 1 Gbit/s"}
	r.Hosts = append([]result.Host{{Role: "sender", CPU: &result.CPU{Process: 0.23, User: 0.01, System: 0.22}}}, r.Hosts...)
	for i := range r.Hosts {
		r.Hosts[i].Counters = map[string]result.Counter{}
	}
	return r
}

func compareReport() *result.Report {
	row := func(frame int, path, family string, pps, ratio float64, ci *[2]float64, ns *float64, lost uint64) result.Row {
		trial := result.Trial{PPS: pps, Sent: 1_000_000, Unique: 1_000_000 - lost, Lost: lost}
		return result.Row{
			Config: result.Config{Protocol: "udp", Path: path, FrameBytes: frame, PayloadBytes: frame - 46, Rate: "max"},
			Family: family, RowRate: &result.RowRate{PPS: pps, L2Bps: pps * 8 * float64(frame)}, NSPerPacket: ns, ReceiverNS: ptr(41.4), Ratio: &ratio, RatioCI95: ci,
			Trials: []result.Trial{trial, trial, trial},
		}
	}
	return &result.Report{
		Command: "compare",
		Config:  &result.Config{RX: "ebpf", Interface: "eth0"},
		Results: []result.Row{
			row(64, "udp", "kernel", 812_345, 1, nil, ptr(1231.4), 0),
			row(1518, "udp", "kernel", 701_000, 1, nil, ptr(1426.0), 0),
			row(64, "ring+gso", "raw", 3_401_234, 4.187, &[2]float64{4.11, 4.29}, ptr(294.2), 2440),
			row(1518, "ring", "raw", 902_000, 1.2867, &[2]float64{1.2, 1.31}, ptr(1108.0), 1),
			row(64, "xdp", "raw", 9_876_543, 12.158, &[2]float64{11.9, 12.3}, nil, 0),
		},
		NotHere: []result.NotHere{{Path: "afxdp", Why: "needs CAP_BPF: sudo setcap cap_net_raw,cap_bpf,cap_net_admin+ep linerate"}},
	}
}

func doctorReport() *result.Report {
	return &result.Report{Command: "doctor", Findings: []result.Finding{
		{Level: "ok", What: "paths: udp gso packet ring afxdp(copy) xdp"},
		{Level: "warn", What: "receive buffer: net.core.rmem_max is 208 KiB; at 1 Gbit/s that is 1.7 ms", Mend: "sysctl -w net.core.rmem_max=33554432"},
		{Level: "warn", What: "eth0 rx ring 256 of 4096", Mend: "ethtool -G eth0 rx 4096"},
	}}
}
