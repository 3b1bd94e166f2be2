package rx

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestLocal holds that a path listens where it was told to.
func TestLocal(t *testing.T) {
	a, b := newPair(t)
	for _, addr := range []string{"10.0.0.3/24", "fd00::3/64", "fe80::2/64"} {
		b.address(t, addr)
	}
	put := a.wire(t)
	to := func(addr string, port uint16) testFrame {
		dst := netip.AddrPortFrom(netip.MustParseAddr(addr), port)
		f := testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: dst}
		if dst.Addr().Is6() {
			f.src = client6
		}
		return f
	}
	elsewhere := to("10.0.0.2", 5201)
	elsewhere.dstMAC[5]++
	all := []testFrame{
		to("10.0.0.2", 5201), to("10.0.0.3", 5201), to("fd00::2", 5201), to("fd00::3", 5201), to("fe80::2", 5201),
		to("10.0.0.2", 5202), to("fd00::2", 5202), elsewhere,
	}
	for _, path := range pathNames() {
		for local, want := range map[string]int{
			"[::]:5201":            5,
			"0.0.0.0:5201":         2,
			"10.0.0.2:5201":        1,
			"[::ffff:a00:2]:5201":  1,
			"[fd00::3]:5201":       1,
			"[fe80::2%veth0]:5201": 1,
			"[fe80::2%2]:5201":     1,
			"10.0.0.3:5202":        0,
		} {
			if path == "afxdp" && local == "0.0.0.0:5201" {
				continue // refused: see TestVersions
			}
			s := newStream(t)
			local = strings.ReplaceAll(local, "%2]", fmt.Sprintf("%%%d]", b.index))
			r := b.open(t, path, s.config(local))
			for _, f := range all {
				f.payload = s.payload(100)
				put(f.bytes())
			}
			if got := s.receive(t, r); got != want {
				t.Errorf("%s on %s: %d received, want %d", path, local, got, want)
			}
			must(t, r.Close())
		}
	}
}

// TestAnyInterface holds that a UDP socket needs no interface.
func TestAnyInterface(t *testing.T) {
	a, b := newPair(t)
	b.address(t, "fe80::2/64")
	put := a.wire(t)
	for local, want := range map[string]int{"[::]:5201": 2, "[fe80::2%veth0]:5201": 1} {
		s := newStream(t)
		c := s.config(local)
		var r Receiver
		b.do(t, func() (err error) {
			r, err = openUDP(&c)
			return err
		})
		for _, f := range []testFrame{{src: client4, dst: server4}, {src: client6, dst: netip.MustParseAddrPort("[fe80::2]:5201")}} {
			f.srcMAC, f.dstMAC, f.payload = a.mac, b.mac, s.payload(100)
			put(f.bytes())
		}
		if got := s.receive(t, r); got != want {
			t.Errorf("%s: %d received, want %d", local, got, want)
		}
		must(t, r.Close())
	}
}

// TestWithoutIPv6 holds that any address is that of IPv4 where the other is off.
func TestWithoutIPv6(t *testing.T) {
	a, b := newPair(t)
	b.do(t, func() error { return os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0) })
	for _, path := range pathNames() {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		_, err := a.dial(t, server4).Write(s.payload(100))
		must(t, err)
		if got := s.receive(t, r); got != 1 {
			t.Errorf("%s: %d received, want 1", path, got)
		}
		must(t, r.Close())
	}
}

// TestMulticast holds that a path joins the group that it listens to (BC-104).
func TestMulticast(t *testing.T) {
	a, b := newPair(t)
	for _, path := range pathNames() {
		for _, group := range []netip.AddrPort{netip.MustParseAddrPort("239.1.1.1:5201"), netip.MustParseAddrPort("[ff15::1]:5201")} {
			s := newStream(t)
			r := b.open(t, path, s.config(group.String()))
			mac := [6]byte{0x01, 0x00, 0x5e, 1, 1, 1}
			from := client4
			if group.Addr().Is6() {
				mac, from = [6]byte{0x33, 0x33, 0, 0, 0, 1}, client6
			}
			put := a.wire(t)
			for range 10 {
				put(testFrame{srcMAC: a.mac, dstMAC: mac, src: from, dst: group, payload: s.payload(100)}.bytes())
			}
			if got := s.receive(t, r); got != 10 {
				t.Errorf("%s: %d received from %v, want 10", path, got, group)
			}
			var joined []byte
			b.do(t, func() (err error) {
				joined, err = os.ReadFile("/proc/thread-self/net/igmp")
				return err
			})
			if group.Addr().Is4() && !strings.Contains(string(joined), "010101EF") {
				t.Errorf("%s: not a member of %v:\n%s", path, group, joined)
			}
			must(t, r.Close())
		}
	}
}

// TestManners holds that the sender gets no ICMP port unreachable, be the port
// free or taken.
func TestManners(t *testing.T) {
	a, b := newPair(t)
	for _, path := range []string{"packet", "ring", "afxdp"} {
		for _, taken := range []bool{false, true} {
			s := newStream(t)
			other := "[::]:5202"
			if taken {
				other = "[::]:5201"
			}
			holder := b.open(t, "udp", s.config(other))
			r := b.open(t, path, s.config("[::]:5201"))
			conn := a.dial(t, server4)
			for range 3 {
				_, err := conn.Write(s.payload(100))
				must(t, err) // ECONNREFUSED would come with the second
			}
			if got := s.receive(t, r); got != 3 {
				t.Errorf("%s, port taken %v: %d received, want 3", path, taken, got)
			}
			must(t, errors.Join(r.Close(), holder.Close()))
		}
	}
}
