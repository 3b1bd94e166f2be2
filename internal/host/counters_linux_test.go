package host

import (
	"errors"
	"net"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestSnapshotIsOfTheThreadsNamespace causes drops in a namespace of its own:
// the counters of the process's first thread must not move them.
func TestSnapshotIsOfTheThreadsNamespace(t *testing.T) {
	enterLab(t)
	lo, err := LinkByName("lo")
	must(t, err)
	before, err := ReadSnapshot(lo.Index)
	must(t, err)
	if before.UDP4.InDatagrams != 0 || before.UDP4.NoPorts != 0 {
		t.Fatalf("a new namespace has counted %+v", before.UDP4)
	}

	receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	defer receiver.Close()
	must(t, receiver.SetReadBuffer(1))
	sender, err := net.DialUDP("udp4", nil, receiver.LocalAddr().(*net.UDPAddr))
	must(t, err)
	defer sender.Close()
	const sent = 100
	for range sent {
		_, err := sender.Write(make([]byte, 1000))
		must(t, err)
	}
	// A datagram counts as in when it is read.
	_, err = receiver.Read(make([]byte, 1000))
	must(t, err)
	deaf, err := net.DialUDP("udp6", nil, &net.UDPAddr{IP: net.IPv6loopback, Port: 9})
	must(t, err)
	defer deaf.Close()
	_, err = deaf.Write([]byte("x"))
	must(t, err)

	after, err := ReadSnapshot(lo.Index)
	must(t, err)
	rise := after.Since(before)
	if rise.UDP4.InDatagrams != 1 || rise.UDP4.RcvbufErrors == 0 || rise.UDP4.RcvbufErrors >= sent || rise.UDP4.OutDatagrams != sent {
		t.Errorf("IPv4 counted %+v, want most of %d lost and one read", rise.UDP4, sent)
	}
	if rise.UDP6.NoPorts != 1 {
		t.Errorf("IPv6 counted %+v, want one for no port", rise.UDP6)
	}
	if rise.Link.TxPackets < sent+1 || rise.Softnet == nil {
		t.Errorf("link %+v, softnet %+v", rise.Link, rise.Softnet)
	}
	if _, err := ReadSnapshot(1 << 20); !errors.Is(err, ErrNoInterface) {
		t.Errorf("no such link: %v", err)
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

func TestSnapshotCountsQdiscDrops(t *testing.T) {
	enterLab(t)
	link := eth0(t)
	_, err := resolve(t, "10.77.0.2")
	must(t, err)
	narrow(t)
	before, err := ReadSnapshot(link.Index)
	must(t, err)
	sender, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(10, 77, 0, 2), Port: 9})
	must(t, err)
	defer sender.Close()
	for range 50 {
		_, err := sender.Write(make([]byte, 1000))
		must(t, err)
	}
	after, err := ReadSnapshot(link.Index)
	must(t, err)
	if rise := after.Since(before); rise.Qdisc == nil || rise.Qdisc.Drops < 30 {
		t.Errorf("the qdisc counted %+v, want most of 50 dropped", rise.Qdisc)
	}
}
