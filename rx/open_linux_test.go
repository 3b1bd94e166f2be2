package rx

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestWindow(t *testing.T) {
	_, b := newPair(t)
	for _, path := range []string{"udp", "gro", "packet"} {
		s := newStream(t)
		c := s.config("[::]:5201")
		c.Window = 16 << 20 // above net.core.rmem_max
		r := b.open(t, path, c)
		if got := r.(Buffered).Window(); got != 32<<20 {
			t.Errorf("%s: window of %d, want twice %d", path, got, c.Window)
		}
		must(t, r.Close())
	}
}

func TestRefused(t *testing.T) {
	_, b := newPair(t)
	b.do(t, func() error {
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: netlink.TUNTAP_MODE_TUN})
	})
	for _, path := range []string{"packet", "ring", "ebpf", "afxdp"} {
		for iface, want := range map[string]string{
			"lo":    "rx " + path + ": lo carries no Ethernet frames; use --rx udp",
			"tun0":  "rx " + path + ": tun0 carries no Ethernet frames; use --rx udp",
			"":      "rx " + path + ": it needs an interface: give --iface, or use --rx udp",
			"veth9": "rx " + path + ": interface veth9: route ip+net: no such network interface (ip link shows those that there are)",
		} {
			p, err := Find(path)
			must(t, err)
			var got error
			b.do(t, func() error {
				got = p.Probe(&Config{Interface: iface, Local: netip.MustParseAddrPort("[::]:5201")})
				return nil
			})
			if got == nil || got.Error() != want {
				t.Errorf("got  %v\nwant %s", got, want)
			}
		}
	}
}

// TestUnprivileged is BC-096: a path says which capability it lacks.
func TestUnprivileged(t *testing.T) {
	_, b := newPair(t)
	for _, p := range Paths {
		c := Config{Interface: b.iface, IfIndex: b.index, Local: netip.MustParseAddrPort("[::]:5201")}
		var err error
		b.do(t, func() error {
			// Capabilities are the thread's, and it ends after this.
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var none [2]unix.CapUserData
			must := unix.Capset(&header, &none[0])
			err = p.Probe(&c)
			return must
		})
		switch {
		case kernelPath(p.Name):
			must(t, err)
		case !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), needed(p.Name)) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %v, want a line with %s", p.Name, err, needed(p.Name))
		}
	}
}

// needed is what the error of a path names that has no capabilities.
func needed(path string) string {
	if path == "ebpf" {
		return "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep "
	}
	return "CAP_NET_RAW"
}

func TestProbe(t *testing.T) {
	_, b := newPair(t)
	for _, p := range Paths {
		c := Config{Interface: b.iface, IfIndex: b.index, Local: netip.MustParseAddrPort("[::]:5201")}
		b.do(t, func() error { return p.Probe(&c) })
	}
}

func TestListenErrors(t *testing.T) {
	_, b := newPair(t)
	b.open(t, "udp", Config{Local: netip.MustParseAddrPort("[::]:5201")})
	for local, want := range map[string]error{
		"[::]:5201":          unix.EADDRINUSE,
		"10.0.0.2:5201":      unix.EADDRINUSE,
		"10.9.9.9:5202":      unix.EADDRNOTAVAIL,
		"[fe80::1%eth7]:1":   nil, // no such interface
		"[fe80::1%9999]:123": unix.ENODEV,
	} {
		var err error
		b.do(t, func() error {
			_, err = openUDP(&Config{Local: netip.MustParseAddrPort(local)})
			return nil
		})
		if err == nil || want != nil && !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "rx udp: ") {
			t.Errorf("%s: %v, want %v", local, err, want)
		}
	}
}

// TestClose holds that a path can be closed twice and leaves no descriptor.
func TestClose(t *testing.T) {
	_, b := newPair(t)
	for _, path := range Names() {
		s := newStream(t)
		before := descriptors(t)
		r := b.open(t, path, s.config("[::]:5201"))
		must(t, r.Close())
		must(t, r.Close())
		if after := descriptors(t); after != before {
			t.Errorf("%s: %d descriptors, then %d", path, before, after)
		}
		if _, err := r.Drops(); err == nil {
			t.Errorf("%s: drops of a closed socket", path)
		}
	}
}

func descriptors(tb testing.TB) int {
	tb.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(tb, err)
	return len(fds)
}

func TestFind(t *testing.T) {
	if p, err := Find("ring"); err != nil || p.Name != "ring" {
		t.Errorf("%v, %v", p, err)
	}
	const want = `no receive path "rings" here; there is udp, gro, ring, packet, ebpf, afxdp`
	if _, err := Find("rings"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
