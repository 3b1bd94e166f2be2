package host

import "reflect"

// A Snapshot holds this host's network counters at one moment, or what they
// rose by between two. A group that is unknown is nil.
type Snapshot struct {
	UDP4, UDP6 *UDP
	IP4        *IP
	Softnet    *Softnet
	Link       *LinkStats
	Qdisc      *Qdisc
}

// UDP is the group of that name of RFC 4113, with Linux's additions. It covers
// the whole network namespace.
type UDP struct {
	InDatagrams, OutDatagrams uint64
	NoPorts                   uint64 // no socket on the port
	InErrors                  uint64 // all that arrived and was not delivered, but for NoPorts
	RcvbufErrors              uint64 // a socket's receive buffer was full
	SndbufErrors              uint64
	InCsumErrors              uint64
}

// IP is the group of that name of RFC 4293: what IPv4 gave up.
type IP struct {
	InHdrErrors, InAddrErrors, InDiscards uint64
	OutDiscards, OutNoRoutes              uint64
	FragCreates, FragFails, ReasmFails    uint64
}

// Softnet is the receive backlog of all cores of the machine.
type Softnet struct {
	Dropped  uint64 // the backlog was full
	Squeezed uint64 // times that the budget ran out with work left
}

// LinkStats are the 64-bit counters of one link (struct rtnl_link_stats64).
type LinkStats struct {
	RxPackets, TxPackets   uint64
	RxBytes, TxBytes       uint64
	RxErrors, TxErrors     uint64
	RxDropped, TxDropped   uint64
	RxMissed, RxOver       uint64
	RxCRC, RxFIFO          uint64
	TxCarrier, TxFIFO      uint64
	Multicast, RxFrameErrs uint64
}

// Qdisc is the root qdisc of one link.
type Qdisc struct {
	Drops, Overlimits, Requeues uint64
}

// Since is what the counters rose by after the other snapshot. A group of
// which any counter fell was reset, and is nil.
func (s *Snapshot) Since(before *Snapshot) *Snapshot {
	return &Snapshot{
		UDP4:    rise(s.UDP4, before.UDP4),
		UDP6:    rise(s.UDP6, before.UDP6),
		IP4:     rise(s.IP4, before.IP4),
		Softnet: rise(s.Softnet, before.Softnet),
		Link:    rise(s.Link, before.Link),
		Qdisc:   rise(s.Qdisc, before.Qdisc),
	}
}

// rise subtracts two groups of counters field by field.
func rise[T any](after, before *T) *T {
	if after == nil || before == nil {
		return nil
	}
	diff := new(T)
	d := reflect.ValueOf(diff).Elem()
	a, b := reflect.ValueOf(after).Elem(), reflect.ValueOf(before).Elem()
	for i := range d.NumField() {
		if a.Field(i).Uint() < b.Field(i).Uint() {
			return nil
		}
		d.Field(i).SetUint(a.Field(i).Uint() - b.Field(i).Uint())
	}
	return diff
}
