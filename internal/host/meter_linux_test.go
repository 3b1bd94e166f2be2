package host

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/internal/result"
)

func rose(counters map[string]result.Counter, name string) uint64 {
	return counters[name].After - counters[name].Before
}

// TestMeterIsOfTheNamespaceThatOpenedIt causes drops in a namespace of its own,
// and reads them from a thread outside of it.
func TestMeterIsOfTheNamespaceThatOpenedIt(t *testing.T) {
	enterLab(t)
	lo, err := LinkByName("lo")
	must(t, err)
	receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	defer receiver.Close()
	must(t, receiver.SetReadBuffer(1))
	m := OpenMeter(lo.Index, Flow{To: netip.MustParseAddrPort("[::1]:9")})
	defer m.Close()
	sender, err := net.DialUDP("udp4", nil, receiver.LocalAddr().(*net.UDPAddr))
	must(t, err)
	defer sender.Close()
	const sent = 100
	for range sent {
		_, err := sender.Write(make([]byte, 1000))
		must(t, err)
	}
	_, err = receiver.Read(make([]byte, 1000)) // a datagram counts as in when it is read
	must(t, err)
	first := make(chan *result.Host)
	go func() { first <- m.Lap() }()
	h := <-first
	if h.Counters["UdpInDatagrams"] != (result.Counter{Before: 0, After: 1}) || rose(h.Counters, "UdpOutDatagrams") != sent {
		t.Errorf("IPv4 counted %+v, want %d sent and one read", h.Counters, sent)
	}
	if lost := rose(h.Counters, "UdpRcvbufErrors"); lost == 0 || lost >= sent {
		t.Errorf("%d datagrams found no room, want most of %d", lost, sent)
	}
	if _, still := h.Counters["UdpNoPorts"]; still {
		t.Error("a lap holds a counter that did not rise")
	}
	if len(h.DropReasons) != 0 {
		t.Errorf("drops of another flow counted: %v", h.DropReasons)
	}
	deaf, err := net.DialUDP("udp6", nil, &net.UDPAddr{IP: net.IPv6loopback, Port: 9})
	must(t, err)
	defer deaf.Close()
	_, err = deaf.Write([]byte("x"))
	must(t, err)
	h = m.Lap()
	if rose(h.Counters, "Udp6NoPorts") != 1 || rose(h.Counters, "UdpRcvbufErrors") != 0 {
		t.Errorf("the second lap counted %+v, want one datagram to no port alone", h.Counters)
	}
	if diff := cmp.Diff(map[string]uint64{"NO_SOCKET": 1}, h.DropReasons); diff != "" {
		t.Errorf("drop reasons (-want +got):\n%s", diff)
	}
	h = m.Total()
	if rose(h.Counters, "Udp6NoPorts") != 1 || rose(h.Counters, "UdpOutDatagrams") != sent || h.DropReasons["NO_SOCKET"] != 1 {
		t.Errorf("the total is %+v and %v", h.Counters, h.DropReasons)
	}
	if h.NIC == nil || h.NIC.Interface != "lo" || rose(h.NIC.Counters, "tx_packets") < sent+1 {
		t.Errorf("interface: %+v", h.NIC)
	}
	if _, known := h.Counters["softnet_dropped"]; !known || h.CPU == nil || h.ContextSwitchesPerS == nil {
		t.Errorf("the machine's part is missing in %+v", h)
	}
}

// narrow puts a queue before eth0 that drops nearly everything.
func narrow(t *testing.T) {
	t.Helper()
	must(t, netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: eth0(t).Index, Handle: netlink.MakeHandle(7, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       1000, Limit: 4000, Buffer: 40_000,
	}))
}

func TestMeterCountsTheQdisc(t *testing.T) {
	enterLab(t)
	link := eth0(t)
	_, err := resolve(t, "10.77.0.2")
	must(t, err)
	narrow(t)
	m := OpenMeter(link.Index, Flow{To: netip.MustParseAddrPort("10.77.0.2:9")})
	defer m.Close()
	sender, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(10, 77, 0, 2), Port: 9})
	must(t, err)
	defer sender.Close()
	for range 50 {
		_, err := sender.Write(make([]byte, 1000))
		must(t, err)
	}
	h := m.Total()
	drops := rose(h.NIC.Counters, "qdisc_drops")
	if drops < 30 || h.DropReasons["QDISC_DROP"]+h.DropReasons["QDISC_OVERLIMIT"] != drops {
		t.Errorf("the qdisc dropped %d, the kernel gave as reasons %v; want most of 50 by both", drops, h.DropReasons)
	}
	if h.NIC.QdiscBacklogBytes == nil {
		t.Error("the backlog is unknown")
	}
}

// A meter that is read once a second takes less than one percent of a core.
func TestMeterIsCheap(t *testing.T) {
	enterLab(t)
	m := OpenMeter(eth0(t).Index, Flow{To: netip.MustParseAddrPort("10.77.0.2:9")})
	defer m.Close()
	used := func() time.Duration {
		var ru unix.Rusage
		must(t, unix.Getrusage(unix.RUSAGE_THREAD, &ru))
		return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	const laps = 50
	before := used()
	for range laps {
		m.Lap()
	}
	if each := (used() - before) / laps; each > 10*time.Millisecond {
		t.Errorf("one reading takes %v of CPU time", each)
	}
}

// A link that goes while the meter counts leaves the rest to be read; one that comes
// in its place, under its name, is another (BC-052).
func TestMeterOutlivesItsInterface(t *testing.T) {
	enterLab(t)
	m := OpenMeter(eth0(t).Index)
	defer m.Close()
	link, err := netlink.LinkByName("eth0")
	must(t, err)
	must(t, netlink.LinkDel(link))
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "peer0"}))
	h := m.Total()
	if h.NIC == nil || h.NIC.Interface != "eth0" || h.NIC.Counters != nil || h.Counters == nil || h.DropReasons != nil {
		t.Errorf("got %+v with interface %+v, want eth0 without counters", h, h.NIC)
	}
}

// What the processor did while nothing came is no part of a test.
func TestMeterLeavesOutTheWait(t *testing.T) {
	const work = 20 * time.Millisecond
	m := OpenMeter(0)
	defer m.Close()
	spin := func() {
		for end := time.Now().Add(work); time.Now().Before(end); {
		}
	}
	m.first.cpu.at = m.first.cpu.at.Add(-time.Hour)
	m.last.cpu.at = m.first.cpu.at
	m.Coming(true)
	spin()
	if h := m.Lap(); h.CPU == nil || h.CPU.Process < 0.01 {
		t.Errorf("the lap is of the wait, too: %+v", h.CPU)
	}
	m.Coming(false) // a pause
	m.Coming(true)
	spin()
	m.Coming(false)
	done := *m.worked
	time.Sleep(work)
	m.Worked()
	if m.worked.at != done.at {
		t.Error("the wait for the last packets counts as work")
	}
	h := m.Total()
	if h.CPU == nil || h.CPU.Process < 0.01 {
		t.Errorf("the total is of the wait, too: %+v", h.CPU)
	}
	if used := done.at.Sub(m.first.cpu.at); used < 2*work {
		t.Errorf("the total is of %v alone: packets came again after a pause", used)
	}
}
