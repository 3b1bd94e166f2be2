package session

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// A fragment that is lost takes its datagram with it, once the rest has waited for
// it long enough.
func TestLedgerNamesFailedReassembly(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		l, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		sysctl(t, l.B(), "ipv4/ipfrag_time=1", "ipv6/ip6frag_time=1")
		later := "ip frag-off & 0x1fff != 0"
		if v6 {
			later = "frag frag-off != 0"
		}
		// Ahead of where netfilter itself would put them together (-400).
		nft("table inet t { chain in { type filter hook prerouting priority -500; "+later+" numgen inc mod 10 == 0 drop; }; }")(t, l)
		var meter *host.Meter
		var ear *net.UDPConn
		to := netip.AddrPortFrom(netip.MustParseAddr(addr(l.B(), v6)), 5201)
		check(t, l.B().Do(func() error {
			link, err := host.LinkByName(l.B().Interface)
			if err != nil {
				return err
			}
			meter = host.OpenMeter(link.Index, host.Flow{To: to, Magic: magic})
			if ear, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(to)); err != nil {
				return err
			}
			return ear.SetReadBuffer(4 << 20)
		}))
		defer meter.Close()
		defer ear.Close()
		const sent = 200
		check(t, l.A().Do(func() error {
			conn, err := net.ListenUDP("udp", nil) // which lets the kernel send fragments
			if err != nil {
				return err
			}
			defer conn.Close()
			raw, err := conn.SyscallConn()
			if err != nil {
				return err
			}
			for _, level := range []struct{ level, option int }{{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER}, {unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER}} {
				if err := raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), level.level, level.option, unix.IP_PMTUDISC_DONT) }); err != nil {
					return err
				}
			}
			payload := make([]byte, 2000)
			payload[0], payload[1] = probe.MagicData>>8, probe.MagicData&0xff
			for range sent {
				if _, err := conn.WriteToUDPAddrPort(payload, to); err != nil {
					return err
				}
			}
			return nil
		}))
		var came uint64
		check(t, ear.SetReadDeadline(time.Now().Add(1500*time.Millisecond)))
		for buffer := make([]byte, 3000); ; came++ {
			if _, err := ear.Read(buffer); err != nil {
				break
			}
		}
		settled := ledger.Settle(ledger.Test{
			Config: &result.Config{}, IPv6: v6, ReceiverHost: meter.Total(),
			Receiver: &result.Receiver{ArrivedPackets: &result.ArrivedPackets{Packets: came, Unique: came, Lost: sent - came}},
		})
		if len(settled.Lost) != 1 || settled.Lost[0].Stage != "receiver_filter" || settled.Lost[0].Packets != sent/10 || settled.Unexplained != 0 {
			t.Errorf("v6=%v: lost %d of %d: %+v", v6, sent-came, sent, settled)
		}
	}
}

// A next hop that stops to answer.
func TestLedgerNamesAnUnresolvedNeighbour(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		c := cause{
			recv: plan.RecvRequest{RX: "udp", Window: big},
			send: plan.SendRequest{Path: "udp", Payload: 500, Count: 8000, Rate: mustRate(t, "10kpps")},
			spoil: func(t *testing.T, l *lab.Lab) {
				sysctl(t, l.A(), "ipv4/neigh/eth0/retrans_time_ms=20", "ipv4/neigh/eth0/mcast_solicit=1",
					"ipv6/neigh/eth0/retrans_time_ms=20", "ipv6/neigh/eth0/mcast_solicit=1")
			},
			amid: func(t *testing.T, l *lab.Lab) {
				time.Sleep(100 * time.Millisecond)
				nft("table netdev t { chain in { type filter hook ingress device eth0 priority 0; ether type arp drop; icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } drop; }; }")(t, l)
				family := map[bool]string{false: "-4", true: "-6"}[v6]
				shell(t, l.A(), "ip "+family+" neigh flush dev eth0")
			},
		}
		test := c.both(t, v6)
		settled := ledger.Settle(test)
		// What still waits for an answer when the count ends was not dropped yet.
		if len(settled.Lost) == 0 || settled.Lost[0].Stage != "sender_qdisc" || 10*settled.Lost[0].Packets < 9*test.Receiver.Lost || test.Receiver.Lost < 1000 {
			t.Errorf("v6=%v: lost %d: %+v; drops %v", v6, test.Receiver.Lost, settled, test.SenderHost.DropReasons)
		}
	}
}
