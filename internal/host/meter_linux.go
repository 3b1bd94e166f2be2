package host

import (
	"io"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/linux"
	"linerate/internal/result"
)

// source is what a meter reads. Each part may be absent.
type source struct {
	snmp, netstat, snmp6 *os.File // below /proc/thread-self/net: of the namespace in which they were opened
	links                *netlink.Handle
	driver               *ethtool.Ethtool
	ifindex              int
	nic                  result.NIC   // its facts
	drops                []*bpf.Drops // of each flow; nil where they can't be counted
	groups               []group
	buffer               []byte
}

func open(ifindex int, flows []Flow) source {
	// All of it has to be of one thread's namespace.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := source{ifindex: ifindex, groups: groups(), buffer: make([]byte, 64<<10)}
	s.snmp, _ = os.Open("/proc/thread-self/net/snmp")
	s.netstat, _ = os.Open("/proc/thread-self/net/netstat")
	s.snmp6, _ = os.Open("/proc/thread-self/net/snmp6")
	for _, f := range flows {
		s.drops = append(s.drops, watchDrops(f))
	}
	if ifindex == 0 {
		return s
	}
	if link, err := LinkByIndex(ifindex); err == nil {
		s.nic = result.NIC{Interface: link.Name, Driver: link.Driver, MTU: link.MTU, SpeedBps: link.SpeedBps,
			HalfDuplex: link.HalfDuplex, LRO: link.Offloads["rx-lro"], Qdisc: link.Qdisc}
		s.links, _ = netlink.NewHandle(unix.NETLINK_ROUTE)
		s.driver, _ = ethtool.NewEthtool()
	}
	return s
}

// watchDrops counts the kernel's drops of a flow in this thread's namespace; nil
// where that can't be done.
func watchDrops(flow Flow) *bpf.Drops {
	if flow.Unwatched {
		return nil
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &ns); err != nil {
		return nil
	}
	drops, err := bpf.AttachDrops(bpf.DropFilter{Namespace: uint32(ns.Ino), To: flow.To, Ports: flow.Ports, Magic: flow.Magic})
	if err != nil {
		return nil
	}
	return drops
}

func (s *source) read() reading {
	r := reading{at: linux.Monotonic(), wall: linux.WallOffset()}
	r.cpu, _ = readCPU()
	r.quota = readQuota(s.groups)
	r.net = s.readNet()
	r.nic, r.backlog = s.readNIC()
	if s.driver != nil && s.nic.SpeedBps != 0 {
		r.speed, _ = speed(s.driver, s.nic.Interface)
	}
	for _, d := range s.drops {
		var reasons map[string]uint64
		if d != nil {
			reasons, _ = d.Load()
		}
		r.reasons = append(r.reasons, reasons)
	}
	return r
}

func (s *source) readNet() map[string]uint64 {
	counters := map[string]uint64{}
	parseSNMP(s.text(s.snmp), counters)
	parseSNMP(s.text(s.netstat), counters)
	parseSNMP6(s.text(s.snmp6), counters)
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if rows, err := fs.NetSoftnetStat(); err == nil {
			var dropped, squeezed uint64
			for _, r := range rows {
				dropped += uint64(r.Dropped)
				squeezed += uint64(r.TimeSqueezed)
			}
			counters["softnet_dropped"], counters["softnet_squeezed"] = dropped, squeezed
		}
	}
	return counters
}

// text reads a file of /proc from its beginning.
func (s *source) text(f *os.File) string {
	if f == nil {
		return ""
	}
	n := 0
	for n < len(s.buffer) {
		k, err := f.ReadAt(s.buffer[n:], int64(n))
		n += k
		if err == io.EOF || k == 0 {
			break
		}
	}
	return string(s.buffer[:n])
}

// readNIC reads the counters of the interface, its root qdisc and its driver.
func (s *source) readNIC() (counters map[string]uint64, backlog *uint64) {
	if s.links == nil {
		return nil, nil
	}
	link, err := s.links.LinkByIndex(s.ifindex)
	if err != nil {
		return nil, nil
	}
	counters = map[string]uint64{}
	if st := link.Attrs().Statistics; st != nil {
		for name, n := range map[string]uint64{
			"rx_packets": st.RxPackets, "tx_packets": st.TxPackets, "rx_bytes": st.RxBytes, "tx_bytes": st.TxBytes,
			"rx_errors": st.RxErrors, "tx_errors": st.TxErrors, "rx_dropped": st.RxDropped, "tx_dropped": st.TxDropped,
			"multicast": st.Multicast, "collisions": st.Collisions,
			"rx_length_errors": st.RxLengthErrors, "rx_over_errors": st.RxOverErrors, "rx_crc_errors": st.RxCrcErrors,
			"rx_frame_errors": st.RxFrameErrors, "rx_fifo_errors": st.RxFifoErrors, "rx_missed_errors": st.RxMissedErrors,
			"tx_aborted_errors": st.TxAbortedErrors, "tx_carrier_errors": st.TxCarrierErrors,
			"tx_fifo_errors": st.TxFifoErrors, "tx_heartbeat_errors": st.TxHeartbeatErrors, "tx_window_errors": st.TxWindowErrors,
		} {
			counters[name] = n
		}
	}
	qdiscs, _ := s.links.QdiscList(link)
	for _, q := range qdiscs {
		a := q.Attrs()
		if a.Parent != netlink.HANDLE_ROOT || a.Statistics == nil || a.Statistics.Queue == nil || a.Statistics.Basic == nil {
			continue
		}
		counters["qdisc_packets"] = uint64(a.Statistics.Basic.Packets)
		counters["qdisc_drops"] = uint64(a.Statistics.Queue.Drops)
		counters["qdisc_overlimits"] = uint64(a.Statistics.Queue.Overlimits)
		counters["qdisc_requeues"] = uint64(a.Statistics.Queue.Requeues)
		waiting := uint64(a.Statistics.Queue.Backlog)
		backlog = &waiting
	}
	if s.driver != nil {
		if stats, err := s.driver.Stats(s.nic.Interface); err == nil {
			classify(stats, counters)
		}
	}
	return counters, backlog
}

func (s *source) close() {
	for _, f := range []*os.File{s.snmp, s.netstat, s.snmp6} {
		if f != nil {
			f.Close()
		}
	}
	if s.links != nil {
		s.links.Close()
	}
	if s.driver != nil {
		s.driver.Close()
	}
	for _, d := range s.drops {
		if d != nil {
			d.Close()
		}
	}
}
