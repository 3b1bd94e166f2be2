package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

func TestLinkFacts(t *testing.T) {
	enterLab(t)
	narrow(t)
	link := eth0(t)
	if !link.Offloads["tx-checksum-ip-generic"] {
		t.Errorf("a veth's checksum offload is not seen in %v", link.Offloads)
	}
	link.Offloads = nil
	byIndex, err := LinkByIndex(link.Index)
	must(t, err)
	if byIndex.Name != "eth0" {
		t.Errorf("index %d is %s, want eth0", link.Index, byIndex.Name)
	}
	want := &Link{
		Index: link.Index, Name: "eth0", MTU: 1500, MaxMTU: 65535, MAC: link.MAC,
		Ethernet: true, Up: true, Carrier: true, Driver: "veth", Qdisc: "tbf", TXQueues: 1,
	}
	if diff := cmp.Diff(want, link); diff != "" || len(link.MAC) != 6 {
		t.Errorf("eth0 (-want +got):\n%s", diff)
	}
	lo, err := LinkByName("lo")
	must(t, err)
	if lo.Ethernet || !lo.Loopback || lo.MAC != nil || lo.MTU != 65536 || !lo.Running() {
		t.Errorf("lo is %+v", lo)
	}
	must(t, netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: netlink.TUNTAP_MODE_TUN}))
	tun, err := LinkByName("tun0")
	must(t, err)
	if tun.Ethernet || tun.MAC != nil || tun.SpeedBps != 0 || tun.Running() {
		t.Errorf("tun0 is %+v", tun)
	}
}
