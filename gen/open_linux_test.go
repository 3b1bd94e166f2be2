package gen

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestProbe(t *testing.T) {
	l := newLab(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "tun0"
	l.check(netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TUN}))
	for i := range Paths {
		p := &Paths[i]
		l.check(p.Probe(l.config(nil)))
		for _, iface := range []string{"lo", "tun0"} {
			ifi, err := net.InterfaceByName(iface)
			l.check(err)
			err = p.Probe(&Config{Interface: iface, IfIndex: ifi.Index})
			want := ""
			if p.Family == Raw {
				want = "path " + p.Name + ": " + iface + " carries no Ethernet frames; use --path udp"
			}
			if got := errorText(err); got != want {
				t.Errorf("probe of %s on %s: %q, want %q", p.Name, iface, got, want)
			}
		}
		if err := p.Probe(&Config{}); (err != nil) != (p.Family == Raw) {
			t.Errorf("probe of %s without an interface: %v", p.Name, err)
		}
		if err := p.Probe(&Config{Interface: "gone", IfIndex: 12345}); (p.Family == Raw) != errors.Is(err, unix.ENODEV) {
			t.Errorf("probe of %s on an interface that isn't there: %v", p.Name, err)
		}
	}
	dropCapability(t, unix.CAP_NET_RAW)
	for i := range Paths {
		p := &Paths[i]
		want := ""
		if p.Family == Raw {
			want = "path " + p.Name + ": operation not permitted: needs CAP_NET_RAW: sudo setcap cap_net_raw+ep " + os.Args[0]
		}
		err := p.Probe(l.config(nil))
		if got := errorText(err); got != want || errors.Is(err, unix.EPERM) != (p.Family == Raw) {
			t.Errorf("probe of %s without CAP_NET_RAW: %q, want %q", p.Name, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// dropCapability takes a capability from the thread of the test for good.
func dropCapability(t *testing.T, c uint) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[c/32].Effective &^= 1 << (c % 32)
	if err := unix.Capset(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
}

// TestOpenErrors refuses what can't be opened, with a line that says why, and
// leaves no descriptor behind.
func TestOpenErrors(t *testing.T) {
	l := newLab(t)
	foreign := l.template(Kernel, testAddr4, 1, nil, 100)
	foreign.Headers.Src = testAddr4[1]
	for _, tt := range []struct {
		path string
		cfg  *Config
		want error
	}{
		{"udp", &Config{Template: foreign}, unix.EADDRNOTAVAIL},
		{"udp", &Config{Template: l.template(Kernel, testAddr4, 1, nil, 100), Interface: "nope", BindDevice: true}, unix.ENODEV},
		{"packet", &Config{Template: l.template(Raw, testAddr4, 1, nil, 100), Interface: "gone", IfIndex: 12345}, unix.ENODEV},
		{"ring", &Config{Template: l.template(Raw, testAddr4, 1, nil, 100), Interface: "gone", IfIndex: 12345}, unix.ENODEV},
	} {
		p := findPath(t, tt.path)
		before := openFDs(t)
		s, err := p.Open(tt.cfg)
		if s != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: Open = %v, %v, want %v", tt.path, s, err, tt.want)
		}
		if after := openFDs(t); after != before {
			t.Errorf("%s: %d descriptors left open", tt.path, after-before)
		}
	}
}

// TestTooManySockets runs out of descriptors.
func TestTooManySockets(t *testing.T) {
	l := newLab(t)
	cfg := l.config(l.template(Kernel, testAddr4, 1000, nil, 100))
	p := findPath(t, "udp")
	before := openFDs(t)
	var limit unix.Rlimit
	l.check(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	low := unix.Rlimit{Cur: 500, Max: limit.Max}
	l.check(unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	s, err := p.Open(cfg)
	l.check(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	const want = "path udp: 1000 flows need a socket each: socket: too many open files (ulimit -n)"
	if s != nil || !errors.Is(err, unix.EMFILE) || err.Error() != want {
		t.Errorf("Open = %v, %v, want %q", s, err, want)
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors left open", after-before)
	}
}

func TestClose(t *testing.T) {
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			before := openFDs(t)
			s, err := p.Open(l.config(l.template(p.Family, testAddr4, 64, nil, 100)))
			l.check(err)
			if openFDs(t) == before {
				t.Error("an open path has no descriptor")
			}
			for range 2 {
				l.check(s.Close())
			}
			if after := openFDs(t); after != before {
				t.Errorf("%d descriptors left open", after-before)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 100))
			for _, tt := range []struct{ asked, want int }{{1 << 20, 2 << 20}, {64 << 20, 128 << 20}} {
				cfg.Window = tt.asked
				s, err := p.Open(cfg)
				l.check(err)
				if got, err := s.(Windower).Window(); got != tt.want || err != nil {
					t.Errorf("asked for %d: Window = %d, %v, want %d", tt.asked, got, err, tt.want)
				}
				l.check(s.Close())
			}
		})
	}
}
