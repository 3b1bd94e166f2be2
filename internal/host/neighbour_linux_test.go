package host

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func resolve(t *testing.T, addr string) (net.HardwareAddr, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	return NeighbourMAC(ctx, eth0(t), netip.MustParseAddr(addr))
}

// BC-100: a MAC address that is not known is asked for, and no datagram is sent for it.
func TestNeighbourIsAskedFor(t *testing.T) {
	l := enterLab(t)
	want := l.B().MAC.String()
	m := OpenMeter(eth0(t).Index)
	defer m.Close()
	for _, addr := range []string{"10.77.0.2", "fd77::2"} {
		mac, err := resolve(t, addr)
		must(t, err)
		if mac.String() != want {
			t.Errorf("%s is at %s, want %s", addr, mac, want)
		}
	}
	h := m.Total()
	tx, v4, v6 := rose(h.NIC.Counters, "tx_packets"), rose(h.Counters, "UdpOutDatagrams"), rose(h.Counters, "Udp6OutDatagrams")
	if tx == 0 || v4 != 0 || v6 != 0 {
		t.Errorf("sent %d frames, of them %d and %d datagrams; want requests and no datagrams", tx, v4, v6)
	}
}

func TestNeighbourWithoutNetAdmin(t *testing.T) {
	l := enterLab(t)
	// Drops the capability of this test's thread alone.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{}
	must(t, unix.Capget(&header, &data[0]))
	data[0].Effective = 1 << unix.CAP_NET_RAW
	data[1].Effective = 0
	must(t, unix.Capset(&header, &data[0]))
	want := l.B().MAC.String()
	for _, addr := range []string{"10.77.0.2", "fd77::2"} {
		mac, err := resolve(t, addr)
		must(t, err)
		if mac.String() != want {
			t.Errorf("%s is at %s, want %s", addr, mac, want)
		}
	}
}

func TestPermanentNeighbourStaysSo(t *testing.T) {
	enterLab(t)
	set, err := net.ParseMAC("02:00:00:00:00:99")
	must(t, err)
	link := eth0(t)
	must(t, netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: link.Index, IP: net.ParseIP("10.77.0.9"), HardwareAddr: set, State: unix.NUD_PERMANENT,
	}))
	mac, err := resolve(t, "10.77.0.9")
	must(t, err)
	entries, err := netlink.NeighList(link.Index, unix.AF_INET)
	must(t, err)
	if mac.String() != set.String() || len(entries) != 1 || entries[0].State != unix.NUD_PERMANENT {
		t.Errorf("got %s and the table %+v, want the permanent entry as it was", mac, entries)
	}
}

func TestSilentNeighbour(t *testing.T) {
	enterLab(t)
	sysctl(t, "ipv4/neigh/eth0/retrans_time_ms", "50")
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := NeighbourMAC(ctx, eth0(t), netip.MustParseAddr("fd77::9"))
	if !errors.Is(err, ErrNoNeighbour) || err.Error() != "no answer to neighbour discovery for fd77::9 on eth0" {
		t.Errorf("fd77::9: %v", err)
	}
	// Here the kernel itself gives up, after three requests.
	_, err = resolve(t, "10.77.0.9")
	if !errors.Is(err, ErrNoNeighbour) || err.Error() != "no answer to ARP for 10.77.0.9 on eth0" {
		t.Errorf("10.77.0.9: %v", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
