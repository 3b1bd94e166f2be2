package bpf_test

import (
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/bpf"
	"linerate/internal/lab"
)

// A drop counts once in the namespace where it happens, if it is of the test.
func TestDropsAreCountedByReason(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		l, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		to := l.B().Addr4
		if v6 {
			to = l.B().Addr6
		}
		drops := map[*lab.Host]*bpf.Drops{}
		for _, h := range []*lab.Host{l.A(), l.B()} {
			if drops[h], err = watchDrops(h, to); err != nil {
				t.Fatal(err)
			}
		}
		nft := exec.Command("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in udp length 18 drop")
		if err := l.B().Run(nft); err != nil {
			t.Fatal(err)
		}
		write(t, l.A(), to, 5201, "LRtwo bytes", 7) // no listener
		write(t, l.A(), to, 5201, "LR-filtered"[:10], 5)
		write(t, l.A(), to, 5201, "another's", 3)
		write(t, l.A(), to, 5202, "LRtwo bytes", 2)
		write(t, l.A(), to, 5200, "LRtwo bytes", 4)
		write(t, l.A(), to, 5203, "LRtwo bytes", 4)
		here, err := drops[l.A()].Load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]uint64{}, here); diff != "" {
			t.Errorf("v6=%v: drops at the sender (-want +got):\n%s", v6, diff)
		}
		there, err := drops[l.B()].Load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]uint64{"NO_SOCKET": 9, "NETFILTER_DROP": 5}, there); diff != "" {
			t.Errorf("v6=%v: drops at the receiver (-want +got):\n%s", v6, diff)
		}
		for _, d := range drops {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func watchDrops(h *lab.Host, to netip.Addr) (d *bpf.Drops, err error) {
	err = h.Do(func() error {
		var ns syscall.Stat_t
		if err := syscall.Stat("/proc/thread-self/ns/net", &ns); err != nil {
			return err
		}
		d, err = bpf.AttachDrops(bpf.DropFilter{
			Namespace: uint32(ns.Ino), To: netip.AddrPortFrom(to, 5201), Ports: 2, Magic: 'L'<<8 | 'R',
		})
		return err
	})
	return d, err
}

func write(t *testing.T, from *lab.Host, to netip.Addr, port uint16, payload string, times int) {
	t.Helper()
	err := from.Do(func() error {
		conn, err := net.ListenUDP("udp", nil)
		if err != nil {
			return err
		}
		defer conn.Close()
		for range times {
			if _, err := conn.WriteToUDPAddrPort([]byte(payload), netip.AddrPortFrom(to, port)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A super-frame counts as the packets in it.
func TestDropsCountSegments(t *testing.T) {
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := watchDrops(l.B(), l.B().Addr4)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = l.A().Do(func() error {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer syscall.Close(fd)
		const udpSegment = 103 // UDP_SEGMENT of linux/udp.h
		if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_UDP, udpSegment, 100); err != nil {
			return err
		}
		return syscall.Sendto(fd, []byte(strings.Repeat("LR"+strings.Repeat("x", 98), 9)), 0,
			&syscall.SockaddrInet4{Port: 5201, Addr: l.B().Addr4.As4()})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"NO_SOCKET": 9}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
