package session

import (
	"net"
	"time"

	"linerate/internal/result"
	"linerate/internal/tcp"
)

// tcpFacts follow what the kernel knows of a connection that sends.
type tcpFacts struct {
	conn   *net.TCPConn
	before *tcp.Info // at the start; nil where the system does not tell
	last   *tcp.Info

	maxCwnd, maxWindow       uint64
	minRTT, maxRTT, totalRTT time.Duration
	seen                     int64 // intervals that had a round-trip time
}

func newTCPFacts(conn *net.TCPConn) tcpFacts {
	f := tcpFacts{conn: conn}
	if info, err := tcp.ReadInfo(conn); err == nil {
		f.before, f.last = info, info
	}
	return f
}

// interval is what TCP did since the last call.
func (f *tcpFacts) interval() *result.IntervalTCP {
	now, err := tcp.ReadInfo(f.conn)
	if err != nil || f.last == nil {
		return &result.IntervalTCP{}
	}
	last := f.last
	f.last = now
	f.note(now)
	retransmits := uint64(now.Retransmits - last.Retransmits)
	cwnd, pmtu, reordering := now.CongestionWindow, int(now.PMTU), int(now.Reordering)
	return &result.IntervalTCP{
		Retransmits: &retransmits, CwndBytes: &cwnd, SendWindow: widen(now.SendWindow), PMTU: &pmtu, Reordering: &reordering,
		RTTNS: nanos(now.RTT), RTTVarNS: nanos(now.RTTVar), DeliveryBps: bits(now.DeliveryRate),
		BusyNS:          between(last.Busy, now.Busy),
		RwndLimitedNS:   between(last.WindowLimited, now.WindowLimited),
		SndbufLimitedNS: between(last.SndbufLimited, now.SndbufLimited),
	}
}

// note keeps the extremes.
func (f *tcpFacts) note(now *tcp.Info) {
	f.maxCwnd = max(f.maxCwnd, now.CongestionWindow)
	if now.SendWindow != nil {
		f.maxWindow = max(f.maxWindow, uint64(*now.SendWindow))
	}
	if now.RTT == nil {
		return
	}
	if f.seen == 0 || *now.RTT < f.minRTT {
		f.minRTT = *now.RTT
	}
	f.maxRTT = max(f.maxRTT, *now.RTT)
	f.totalRTT += *now.RTT
	f.seen++
}

// total is what TCP did over the test.
func (f *tcpFacts) total() *result.SentTCP {
	now, err := tcp.ReadInfo(f.conn)
	if err != nil {
		now = f.last // the connection broke
	}
	if now == nil || f.before == nil {
		return &result.SentTCP{}
	}
	if f.seen == 0 {
		f.note(now)
	}
	retransmits, reordering := uint64(now.Retransmits-f.before.Retransmits), int(now.Reordering)
	t := &result.SentTCP{
		Retransmits: &retransmits, MaxCwndBytes: &f.maxCwnd, Reordering: &reordering,
		MinRTTNS: nanos(now.MinRTT), DeliveryBps: bits(now.DeliveryRate),
		BusyNS:          between(f.before.Busy, now.Busy),
		RwndLimitedNS:   between(f.before.WindowLimited, now.WindowLimited),
		SndbufLimitedNS: between(f.before.SndbufLimited, now.SndbufLimited),
	}
	if f.maxWindow > 0 {
		t.MaxSendWindow = &f.maxWindow
	}
	if f.seen > 0 {
		t.RTTNS = &result.RTT{Min: f.minRTT.Nanoseconds(), Mean: f.totalRTT.Nanoseconds() / f.seen, Max: f.maxRTT.Nanoseconds()}
	}
	return t
}

// sumTCP is of all streams what TCP did in an interval.
func sumTCP(flows []result.SenderInterval) *result.IntervalTCP {
	if len(flows) == 1 {
		return flows[0].IntervalTCP
	}
	sum := &result.IntervalTCP{}
	var trips int64 // streams whose round trip is known
	for _, f := range flows {
		add(&sum.Retransmits, f.Retransmits)
		add(&sum.CwndBytes, f.CwndBytes)
		add(&sum.DeliveryBps, f.DeliveryBps)
		add(&sum.BusyNS, f.BusyNS)
		add(&sum.RwndLimitedNS, f.RwndLimitedNS)
		add(&sum.SndbufLimitedNS, f.SndbufLimitedNS)
		if f.RTTNS != nil {
			add(&sum.RTTNS, f.RTTNS)
			trips++
		}
	}
	if sum.RTTNS != nil {
		*sum.RTTNS /= trips
	}
	return sum
}

// sumSent is of all streams what TCP did over the test.
func sumSent(flows []result.Sender) *result.SentTCP {
	if len(flows) == 1 {
		one := *flows[0].SentTCP
		return &one
	}
	sum := &result.SentTCP{}
	for _, f := range flows {
		add(&sum.Retransmits, f.Retransmits)
		add(&sum.MaxCwndBytes, f.MaxCwndBytes)
		add(&sum.DeliveryBps, f.DeliveryBps)
		add(&sum.BusyNS, f.BusyNS)
		add(&sum.RwndLimitedNS, f.RwndLimitedNS)
		add(&sum.SndbufLimitedNS, f.SndbufLimitedNS)
	}
	return sum
}

// add adds what is known.
func add[T uint64 | int64 | float64](sum **T, v *T) {
	if v == nil {
		return
	}
	if *sum == nil {
		*sum = new(T)
	}
	**sum += *v
}

func nanos(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ns := d.Nanoseconds()
	return &ns
}

func bits(bytes *uint64) *float64 {
	if bytes == nil {
		return nil
	}
	b := 8 * float64(*bytes)
	return &b
}

func widen(n *uint32) *uint64 {
	if n == nil {
		return nil
	}
	wide := uint64(*n)
	return &wide
}

func between(before, now *time.Duration) *int64 {
	if before == nil || now == nil {
		return nil
	}
	ns := (*now - *before).Nanoseconds()
	return &ns
}
