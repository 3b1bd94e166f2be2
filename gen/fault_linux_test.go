package gen

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/gen/pace"
	"linerate/internal/linux"
)

// shape puts a token bucket on a's end: 1 Mbit/s, and a queue of so many bytes.
func (l *lab) shape(limit uint32) {
	const bytesPerSecond, burst = 1_000_000 / 8, 20_000
	l.check(l.onA.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.a.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       bytesPerSecond,
		Limit:      limit,
		Buffer:     netlink.Xmittime(bytesPerSecond, burst),
	}))
	l.waitUp()
}

// accepted is what the qdisc has taken so far: sent on or waiting; and dropped.
func (l *lab) accepted() (taken, drops int) {
	qdiscs, err := l.onA.QdiscList(l.a)
	l.check(err)
	st := qdiscs[0].Attrs().Statistics
	return int(st.Basic.Packets) + int(st.Queue.Qlen), int(st.Queue.Drops)
}

// quiet stops what the kernel sends by itself.
func (l *lab) quiet() {
	off := func() { l.check(os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)) }
	off()
	l.inB(off)
}

// TestRefused offers ten times what a shaped interface takes. What the path says
// it sent is what the queue took and, in the end, what arrives.
func TestRefused(t *testing.T) {
	for i := range Paths {
		p := &Paths[i]
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.quiet()
			l.sink(testAddr4[1])
			l.shape(30_000)
			r := l.reader()
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 1000))
			if p.Family == Kernel {
				cfg.Window = 20_000 // it fills up before the queue of the interface does
			}
			s := l.open(p, cfg)
			takenBefore, dropsBefore := l.accepted()
			sent, refusals := 0, 0
			for end := time.Now().Add(150 * time.Millisecond); time.Now().Before(end); {
				time.Sleep(2 * time.Millisecond)
				n, err := s.Send(pace.Burst{First: uint64(sent), N: 10, Size: 1000})
				l.check(err)
				sent += n
				if n < 10 {
					refusals++
				}
			}
			taken, drops := l.accepted()
			taken, drops = taken-takenBefore, drops-dropsBefore
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			early, err := s.Drain(cancelled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Drain with a queue behind it: %+v, %v", early, err)
			}
			if sent < 20 || sent != taken {
				t.Errorf("sent %d, but the queue took %d", sent, taken)
			}
			if p.Name == "ring" && (early.Packets == 0 || early.Packets >= uint64(sent)) {
				t.Errorf("left before the end: %d of %d", early.Packets, sent)
			}
			done, err := s.Drain(t.Context())
			l.check(err)
			if done.Packets != uint64(sent) || done.Unreachable != 0 {
				t.Errorf("Drain = %+v after %d packets", done, sent)
			}
			if refusals < 10 || done.Refused < uint64(refusals) {
				t.Errorf("%d refused, after %d short counts", done.Refused, refusals)
			}
			if p.Family == Raw && done.Refused != uint64(drops) {
				t.Errorf("%d refused, but the queue dropped %d", done.Refused, drops)
			}
			e := newExpect(cfg.Template, l)
			if n := e.receive(r, pace.Burst{N: sent, Size: 1000}, sent); n != 0 {
				t.Errorf("%d strangers", n)
			}
		})
	}
}

// TestBypass walks past the shaper that would refuse most of it.
func TestBypass(t *testing.T) {
	for i := range Paths {
		p := &Paths[i]
		if p.Family != Raw {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.quiet()
			l.shape(30_000)
			r := l.reader()
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 1000))
			cfg.Bypass = true
			newExpect(cfg.Template, l).send(l.open(p, cfg), r, 1000, 1000)
		})
	}
}

// TestRingFull fills a ring whose frames wait in the queue of the interface.
func TestRingFull(t *testing.T) {
	l := newLab(t)
	l.quiet()
	l.shape(64 << 20)
	cfg := l.config(l.template(Raw, testAddr4, 1, nil, 8972))
	cfg.Window = 256 << 20
	p := findPath(t, "ring")
	s := l.open(p, cfg)
	slots := s.(*ringSender).ring.Len()
	sent := 0
	for {
		n, err := s.Send(pace.Burst{First: uint64(sent), N: 64, Size: 8972})
		l.check(err)
		if sent += n; n == 0 {
			break
		}
	}
	if sent < slots || sent > slots+5 { // a burst's worth leaves at once
		t.Errorf("a ring of %d slots took %d frames", slots, sent)
	}
	if taken, _ := l.accepted(); taken != sent {
		t.Errorf("sent %d, but the queue took %d", sent, taken)
	}
}

func TestInterfaceErrors(t *testing.T) {
	for i := range Paths {
		p := &Paths[i]
		burst := pace.Burst{N: 64, Size: 8000}
		open := func(t *testing.T) (*lab, Sender) {
			l := newLab(t)
			l.sink(testAddr4[1])
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 8000))
			cfg.BindDevice = true
			s := l.open(p, cfg)
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Fatalf("Send = %d, %v", n, err)
			}
			return l, s
		}
		expect := func(t *testing.T, s Sender, want error) {
			t.Helper()
			if n, err := s.Send(burst); n != 0 || !errors.Is(err, want) {
				t.Errorf("Send = %d, %v, want %v", n, err, want)
			}
		}
		raw := p.Family == Raw
		t.Run(p.Name+"/down", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetDown(l.a))
			if raw {
				expect(t, s, unix.ENETDOWN)
			} else {
				expect(t, s, unix.ENETUNREACH) // its route went with the interface
			}
		})
		t.Run(p.Name+"/flap", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetDown(l.a))
			l.check(l.onA.LinkSetUp(l.a))
			l.waitUp()
			l.check(l.onA.NeighSet(&netlink.Neigh{
				LinkIndex: l.a.Attrs().Index, State: netlink.NUD_PERMANENT,
				IP: testAddr4[1].AsSlice(), HardwareAddr: l.b.Attrs().HardwareAddr,
			}))
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Errorf("Send = %d, %v, after the link was down for a while", n, err)
			}
		})
		t.Run(p.Name+"/deleted", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkDel(l.a))
			if raw {
				expect(t, s, unix.ENXIO)
			} else {
				expect(t, s, unix.ENETUNREACH)
			}
		})
		t.Run(p.Name+"/mtu", func(t *testing.T) {
			l, s := open(t)
			l.check(l.onA.LinkSetMTU(l.a, 1500))
			expect(t, s, unix.EMSGSIZE)
			l.check(l.onA.LinkSetMTU(l.a, testMTU))
			if n, err := s.Send(burst); n != 64 || err != nil {
				t.Errorf("Send = %d, %v, after the MTU was small for a while", n, err)
			}
		})
	}
}

// TestUnreachable sends where nobody listens: all of it leaves, and the sender
// knows that it was not welcome.
func TestUnreachable(t *testing.T) {
	p := findPath(t, "udp")
	l := newLab(t)
	r := l.reader()
	s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100)))
	const n = 6400
	for sent := 0; sent < n; {
		b := pace.Burst{First: uint64(sent), N: 64, Size: 100}
		k, err := s.Send(b)
		if k != 64 || err != nil {
			t.Fatalf("Send = %d, %v", k, err)
		}
		sent += k
	}
	done, err := s.Drain(t.Context())
	l.check(err)
	if done.Packets != n || done.Refused != 0 || done.Unreachable == 0 {
		t.Errorf("Drain = %+v, want %d packets, none refused, some unreachable", done, n)
	}
	e := newExpect(s.(*udpSender).template, l)
	e.receive(r, pace.Burst{N: n, Size: 100}, n)
}

// TestStaleErrors gives offer an error that the socket had kept.
func TestStaleErrors(t *testing.T) {
	l := newLab(t)
	p := findPath(t, "udp")
	s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100))).(*udpSender)
	// The first packet brings an ICMP error, which the second stumbles over.
	for range 2 {
		if o := offer(s.batch, s.flows[0], 1); o.sent != 1 || o.err != nil {
			t.Fatalf("offer = %+v", o)
		} else if o.stale > 0 {
			return
		}
	}
	t.Error("no error was kept")
}

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
	for i := range Paths {
		p := &Paths[i]
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
	for i := range Paths {
		p := &Paths[i]
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

// TestAllocs holds the loop of each path to no allocation.
func TestAllocs(t *testing.T) {
	for i := range Paths {
		p := &Paths[i]
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.sink(testAddr4[1])
			s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 100)))
			b := pace.Burst{N: 64, Size: 100}
			allocs := testing.AllocsPerRun(100, func() {
				if n, err := s.Send(b); n != b.N || err != nil {
					t.Errorf("Send = %d, %v", n, err)
				}
				b.First += uint64(b.N)
			})
			if allocs != 0 {
				t.Errorf("%v allocations a batch", allocs)
			}
		})
	}
}

func BenchmarkSend(b *testing.B) {
	for i := range Paths {
		p := &Paths[i]
		b.Run(p.Name, func(b *testing.B) {
			l := newLab(b)
			l.sink(testAddr4[1])
			s := l.open(p, l.config(l.template(p.Family, testAddr4, 1, nil, 18)))
			burst := pace.Burst{N: 64, Size: 18}
			b.ReportAllocs()
			start := linux.Monotonic()
			packets := 0
			for b.Loop() {
				n, err := s.Send(burst)
				if err != nil {
					b.Fatal(err)
				}
				packets += n
				burst.First += uint64(n)
			}
			elapsed := float64(linux.Monotonic() - start)
			b.ReportMetric(elapsed/float64(packets), "ns/pkt")
			b.ReportMetric(float64(packets)/elapsed*1e9, "pkt/s")
		})
	}
}
