package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ReadSnapshot reads the counters of the calling thread's network namespace,
// and those of one of its links; ifindex 0 stands for none.
func ReadSnapshot(ifindex int) (*Snapshot, error) {
	// /proc/net is the namespace of the process's first thread, and this
	// goroutine must not change threads between finding and reading its own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	thread, err := fs.Thread(os.Getpid(), unix.Gettid())
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	s := new(Snapshot)
	if err := s.readSNMP(thread); err != nil {
		return nil, err
	}
	if rows, err := fs.NetSoftnetStat(); err == nil {
		s.Softnet = new(Softnet)
		for _, r := range rows {
			s.Softnet.Dropped += uint64(r.Dropped)
			s.Softnet.Squeezed += uint64(r.TimeSqueezed)
		}
	}
	if ifindex != 0 {
		if err := s.readLink(ifindex); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Snapshot) readSNMP(thread procfs.Proc) error {
	v4, err := thread.Snmp()
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	s.UDP4 = &UDP{
		InDatagrams: count(v4.Udp.InDatagrams), OutDatagrams: count(v4.Udp.OutDatagrams),
		NoPorts: count(v4.Udp.NoPorts), InErrors: count(v4.Udp.InErrors),
		RcvbufErrors: count(v4.Udp.RcvbufErrors), SndbufErrors: count(v4.Udp.SndbufErrors),
		InCsumErrors: count(v4.Udp.InCsumErrors),
	}
	s.IP4 = &IP{
		InHdrErrors: count(v4.Ip.InHdrErrors), InAddrErrors: count(v4.Ip.InAddrErrors),
		InDiscards: count(v4.Ip.InDiscards), OutDiscards: count(v4.Ip.OutDiscards),
		OutNoRoutes: count(v4.Ip.OutNoRoutes), FragCreates: count(v4.Ip.FragCreates),
		FragFails: count(v4.Ip.FragFails), ReasmFails: count(v4.Ip.ReasmFails),
	}
	v6, err := thread.Snmp6()
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	if v6.Udp6.InDatagrams == nil { // no IPv6 in this kernel
		return nil
	}
	s.UDP6 = &UDP{
		InDatagrams: count(v6.Udp6.InDatagrams), OutDatagrams: count(v6.Udp6.OutDatagrams),
		NoPorts: count(v6.Udp6.NoPorts), InErrors: count(v6.Udp6.InErrors),
		RcvbufErrors: count(v6.Udp6.RcvbufErrors), SndbufErrors: count(v6.Udp6.SndbufErrors),
		InCsumErrors: count(v6.Udp6.InCsumErrors),
	}
	return nil
}

// count takes a counter from procfs, which keeps them as floats. Every kernel
// that linerate runs on has those read here.
func count(v *float64) uint64 {
	if v == nil {
		return 0
	}
	return uint64(*v)
}

func (s *Snapshot) readLink(ifindex int) error {
	l, err := netlink.LinkByIndex(ifindex)
	if err != nil {
		return linkError(fmt.Sprintf("with index %d", ifindex), err)
	}
	if st := l.Attrs().Statistics; st != nil {
		s.Link = &LinkStats{
			RxPackets: st.RxPackets, TxPackets: st.TxPackets, RxBytes: st.RxBytes, TxBytes: st.TxBytes,
			RxErrors: st.RxErrors, TxErrors: st.TxErrors, RxDropped: st.RxDropped, TxDropped: st.TxDropped,
			RxMissed: st.RxMissedErrors, RxOver: st.RxOverErrors, RxCRC: st.RxCrcErrors, RxFIFO: st.RxFifoErrors,
			TxCarrier: st.TxCarrierErrors, TxFIFO: st.TxFifoErrors,
			Multicast: st.Multicast, RxFrameErrs: st.RxFrameErrors,
		}
	}
	qdiscs, err := netlink.QdiscList(l)
	if err != nil {
		return fmt.Errorf("read qdiscs of %s: %w", l.Attrs().Name, err)
	}
	for _, q := range qdiscs {
		if st := q.Attrs().Statistics; q.Attrs().Parent == netlink.HANDLE_ROOT && st != nil && st.Queue != nil {
			s.Qdisc = &Qdisc{
				Drops: uint64(st.Queue.Drops), Overlimits: uint64(st.Queue.Overlimits),
				Requeues: uint64(st.Queue.Requeues),
			}
		}
	}
	return nil
}
