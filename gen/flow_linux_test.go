package gen

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/gen/frame"
	"linerate/gen/pace"
)

// TestUDPAddresses holds what the kernel writes into the headers against what
// was asked for.
func TestUDPAddresses(t *testing.T) {
	l := newLab(t)
	l.sink(testAddr4[1])
	l.sink(testAddr6[1])
	r := l.reader()
	index := l.a.Attrs().Index
	linkLocal := l.linkLocal()
	to := func(addr string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(addr), testDstPort) }
	from := func(addr string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(addr), testSrcPort) }
	for _, tt := range []struct {
		name    string
		headers frame.Headers
		ifindex int
		want    headers
	}{
		{"v4", frame.Headers{Dst: testAddr4[1], SrcPort: testSrcPort}, 0,
			headers{src: from("10.9.0.1"), dst: to("10.9.0.2"), ttl: 64, df: true}},
		{"v4 mapped", frame.Headers{Dst: netip.MustParseAddr("::ffff:10.9.0.2"), SrcPort: testSrcPort}, 0,
			headers{src: from("10.9.0.1"), dst: to("10.9.0.2"), ttl: 64, df: true}},
		{"v4 with TOS, ECN and TTL", frame.Headers{Dst: testAddr4[1], SrcPort: testSrcPort, TOS: 0xbb, TTL: 1}, 0,
			headers{src: from("10.9.0.1"), dst: to("10.9.0.2"), tos: 0xbb, ttl: 1, df: true}},
		{"v4 broadcast", frame.Headers{Src: testAddr4[0], Dst: netip.MustParseAddr("10.9.0.255"), SrcPort: testSrcPort}, 0,
			headers{src: from("10.9.0.1"), dst: to("10.9.0.255"), ttl: 64, df: true}},
		{"v4 multicast", frame.Headers{Dst: netip.MustParseAddr("239.1.2.3"), SrcPort: testSrcPort}, index,
			headers{src: from("10.9.0.1"), dst: to("239.1.2.3"), ttl: 1, df: true}},
		{"v4 multicast with TTL", frame.Headers{Dst: netip.MustParseAddr("239.1.2.3"), SrcPort: testSrcPort, TTL: 9}, index,
			headers{src: from("10.9.0.1"), dst: to("239.1.2.3"), ttl: 9, df: true}},
		{"v6 with class and limit", frame.Headers{Dst: testAddr6[1], SrcPort: testSrcPort, TOS: 0xbb, TTL: 7}, 0,
			headers{src: from("fd09::1"), dst: to("fd09::2"), tos: 0xbb, ttl: 7}},
		{"v6 multicast", frame.Headers{Src: testAddr6[0], Dst: netip.MustParseAddr("ff0e::77"), SrcPort: testSrcPort, TTL: 3}, index,
			headers{src: from("fd09::1"), dst: to("ff0e::77"), ttl: 3}},
		{"link-local of a zone", frame.Headers{Dst: linkLocal[1].WithZone("a"), SrcPort: testSrcPort}, 0,
			headers{src: netip.AddrPortFrom(linkLocal[0], testSrcPort), dst: netip.AddrPortFrom(linkLocal[1], testDstPort), ttl: 64}},
		{"link-local of an interface", frame.Headers{Src: linkLocal[0], Dst: linkLocal[1], SrcPort: testSrcPort}, index,
			headers{src: netip.AddrPortFrom(linkLocal[0], testSrcPort), dst: netip.AddrPortFrom(linkLocal[1], testDstPort), ttl: 64}},
	} {
		tt.headers.DstPort = testDstPort
		s, err := findPath(t, "udp").Open(&Config{IfIndex: tt.ifindex, Template: l.build(tt.headers, 1, 100), Batch: 1})
		l.check(err)
		if n, err := s.Send(pace.Burst{N: 1, Size: 100}); n != 1 || err != nil {
			t.Errorf("%s: Send = %d, %v", tt.name, n, err)
		} else if got := r.nextUDP(t); got != tt.want {
			t.Errorf("%s: headers %+v, want %+v", tt.name, got, tt.want)
		}
		l.check(s.Close())
	}
}

func findPath(t testing.TB, name string) *Path {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// nextUDP returns the headers of the next datagram to the port of the test.
func (r *reader) nextUDP(t *testing.T) headers {
	t.Helper()
	h, _, _ := parse(r.nextFrame(t))
	return h
}

// nextFrame returns the next frame with a datagram to the port of the test.
func (r *reader) nextFrame(t *testing.T) []byte {
	t.Helper()
	for {
		a, ok := r.next()
		if !ok {
			t.Fatal("nothing arrived")
		}
		if h, _, isUDP := parse(a.frame); isUDP && h.dst.Port() == testDstPort {
			return a.frame
		}
	}
}

// linkLocal returns the link-local addresses of both ends, and makes them
// neighbours.
func (l *lab) linkLocal() [2]netip.Addr {
	ends := [2]netip.Addr{netip.MustParseAddr("fe80::a"), netip.MustParseAddr("fe80::b")}
	l.addNeighbours(l.onA, l.a, l.b, ends[0], ends[1])
	l.addNeighbours(l.onB, l.b, l.a, ends[1], ends[0])
	return ends
}

// TestKernelPorts lets the kernel choose the ports of many flows, and each has
// its own (BC-061).
func TestKernelPorts(t *testing.T) {
	const flows = 1000
	l := newLab(t)
	l.sink(testAddr4[1])
	r := l.reader()
	cfg := l.config(l.build(frame.Headers{Dst: testAddr4[1], DstPort: testDstPort}, flows, 18))
	cfg.Window = 0
	s := l.open(findPath(t, "udp"), cfg)
	ports := map[uint16]bool{}
	for flow := range flows {
		if n, err := s.Send(pace.Burst{Flow: uint16(flow), N: 1, Size: 18}); n != 1 || err != nil {
			t.Fatalf("Send = %d, %v", n, err)
		}
		ports[r.nextUDP(t).src.Port()] = true
	}
	if len(ports) != flows {
		t.Errorf("%d flows left from %d ports", flows, len(ports))
	}
}

// TestBindDevice sends by the interface that was asked for, against the routes
// (BC-116).
func TestBindDevice(t *testing.T) {
	l := newLab(t)
	cfg := l.config(l.build(frame.Headers{Dst: netip.MustParseAddr("192.0.2.1"), DstPort: testDstPort}, 1, 100))
	if s, err := findPath(t, "udp").Open(cfg); err == nil {
		t.Errorf("there is no route, but Open = %v", s)
	}
	cfg.BindDevice = true
	s := l.open(findPath(t, "udp"), cfg)
	if n, err := s.Send(pace.Burst{N: 1, Size: 100}); n != 1 || err != nil {
		t.Errorf("Send = %d, %v", n, err)
	}
}

// TestWindowCapped asks for more than an ordinary process may have.
func TestWindowCapped(t *testing.T) {
	l := newLab(t)
	cfg := l.config(l.template(Kernel, testAddr4, 1, nil, 100))
	cfg.Window = 1 << 30
	dropCapability(t, unix.CAP_NET_ADMIN)
	got, err := l.open(findPath(t, "udp"), cfg).(Windower).Window()
	if err != nil || got <= 0 || got >= cfg.Window {
		t.Errorf("asked for %d: Window = %d, %v", cfg.Window, got, err)
	}
}
