package rx

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// A testStream writes numbered payloads and counts what of them comes back. Its
// format is one that tells flows apart by where they come from.
type testStream struct {
	stamper probe.Stamper
	pattern probe.Pattern
	tracker *track.Tracker
	next    uint64
}

func newStream(tb testing.TB) *testStream {
	tb.Helper()
	pattern, err := probe.ParsePattern("random")
	must(tb, err)
	offset := linux.WallOffset()
	return &testStream{
		stamper: probe.Stamper{Format: probe.IPerf2, WallOffset: offset},
		pattern: pattern,
		tracker: track.New(track.Config{Format: probe.IPerf2, Pattern: &pattern, WallOffset: offset}),
	}
}

// payload is the next one of the stream.
func (s *testStream) payload(size int) []byte {
	b := make([]byte, size)
	probe.IPerf2.Init(b)
	s.stamper.Put(b, 0, s.next, linux.Monotonic())
	if reserved := probe.IPerf2.Reserved(); size > reserved {
		s.pattern.Fill(b[reserved:], reserved)
	}
	s.next++
	return b
}

// receive takes what waits at r and what comes until nothing has for a while.
func (s *testStream) receive(tb testing.TB, r Receiver) (handed int) {
	tb.Helper()
	for {
		n, err := r.Receive(s.tracker, time.Now().Add(20 * time.Millisecond))
		must(tb, err)
		if n == 0 {
			return handed
		}
		handed += n
	}
}

// config lets a path see whole payloads.
func (s *testStream) config(local string) Config {
	return Config{Local: netip.MustParseAddrPort(local), Window: 8 << 20, Capture: math.MaxUint16}
}

// pathNames are those of the table.
func pathNames() (names []string) {
	for _, p := range Paths {
		names = append(names, p.Name)
	}
	return names
}

func frames(tb testing.TB, r Receiver) Frames {
	tb.Helper()
	f, ok := r.(Framed)
	if !ok {
		tb.Fatalf("%T sees no frames", r)
	}
	return f.Frames()
}

func dropsOf(tb testing.TB, r Receiver) uint64 {
	tb.Helper()
	d, err := r.Drops()
	must(tb, err)
	return d.Socket + d.Program
}

// TestPaths sends datagrams of every kind over a veth pair: all paths have to
// make the same of them.
func TestPaths(t *testing.T) {
	a, b := newPair(t)
	const n = 100
	type sent struct {
		size int
		from netip.AddrPort
	}
	fromSocket := func(t *testing.T, s *testStream, to netip.AddrPort, size int) sent {
		conn := a.dial(t, to)
		for range n {
			_, err := conn.Write(s.payload(size))
			must(t, err)
		}
		return sent{size, conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	}
	fromWire := func(tags ...uint16) func(*testing.T, *testStream, netip.AddrPort, int) sent {
		return func(t *testing.T, s *testStream, to netip.AddrPort, size int) sent {
			from := client4
			if to == server6 {
				from = client6
			}
			put := a.wire(t)
			for range n {
				put(testFrame{srcMAC: a.mac, dstMAC: b.mac, tags: tags, src: from, dst: to, payload: s.payload(size)}.bytes())
			}
			return sent{size, from}
		}
	}
	for _, path := range pathNames() {
		for _, to := range []netip.AddrPort{server4, server6} {
			for _, size := range []int{18, 1472, 8952} {
				for _, kind := range []struct {
					name string
					send func(*testing.T, *testStream, netip.AddrPort, int) sent
				}{
					{"datagrams", fromSocket},
					{"frames", fromWire()},
					{"tagged", fromWire(5<<13 | 100)},
				} {
					t.Run(fmt.Sprint(path, "/", to.Addr(), "/", size, "/", kind.name), func(t *testing.T) {
						s := newStream(t)
						c := s.config("[::]:5201")
						c.Verify = true
						r := b.open(t, path, c)
						want := kind.send(t, s, to, size)
						handed := s.receive(t, r)
						if path == "udp" && kind.name == "tagged" {
							if handed != 0 {
								t.Errorf("a UDP socket got %d tagged frames", handed)
							}
							return
						}
						if handed != n {
							t.Fatalf("%d of %d handed over", handed, n)
						}
						result, err := s.tracker.Finish(track.Settlement{Clock: track.Same})
						must(t, err)
						if len(result.Flows) != 1 {
							t.Fatalf("%d flows", len(result.Flows))
						}
						got := result.Flows[0]
						if diff := cmp.Diff(source(want.from), got.From); diff != "" {
							t.Errorf("from (-want +got)\n%s", diff)
						}
						bytes := uint64(n * want.size)
						counts := track.Counts{Packets: n, PayloadBytes: bytes, Unique: n, UniquePayloadBytes: bytes}
						if diff := cmp.Diff(counts, got.Counts); diff != "" {
							t.Errorf("(-want +got)\n%s", diff)
						}
						if least, most := result.Delay.Min, result.Delay.Max; least < 0 || most > int64(time.Second) {
							t.Errorf("delay of %d to %d ns", least, most)
						}
						if drops := dropsOf(t, r); drops != 0 {
							t.Errorf("%d drops", drops)
						}
						if path == "udp" {
							return
						}
						var special Frames
						if kind.name == "tagged" {
							special = Frames{Tagged: n, TCI: 5<<13 | 100}
						}
						if diff := cmp.Diff(special, frames(t, r)); diff != "" {
							t.Errorf("frames (-want +got)\n%s", diff)
						}
					})
				}
			}
		}
	}
}

// TestJumboWhole is BC-028: frames around the size of a page arrive whole.
func TestJumboWhole(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	for _, path := range pathNames() {
		s := newStream(t)
		r := b.open(t, path, s.config("10.0.0.2:5201"))
		sum := 0
		for _, frame := range []int{4095, 4096, 4097, 8192, 9014} {
			size := frame - 14 - 28
			sum += size
			put(testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(size)}.bytes())
		}
		s.receive(t, r)
		want := track.Counts{Packets: 5, PayloadBytes: uint64(sum), Unique: 5, UniquePayloadBytes: uint64(sum)}
		if diff := cmp.Diff(want, s.tracker.Totals().Counts); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// TestFragments is BC-036: a datagram in fragments is one packet.
func TestFragments(t *testing.T) {
	a, b := newPair(t)
	for _, path := range pathNames() {
		for _, to := range []netip.AddrPort{server4, server6} {
			s := newStream(t)
			r := b.open(t, path, s.config("[::]:5201"))
			conn := a.dial(t, to)
			for range 10 {
				_, err := conn.Write(s.payload(20_000))
				must(t, err)
			}
			s.receive(t, r)
			want := track.Counts{Packets: 10, PayloadBytes: 200_000, Unique: 10, UniquePayloadBytes: 200_000}
			if diff := cmp.Diff(want, s.tracker.Totals().Counts); diff != "" {
				t.Errorf("%s to %v (-want +got)\n%s", path, to, diff)
			}
			if path != "udp" {
				if diff := cmp.Diff(Frames{Fragments: 10}, frames(t, r)); diff != "" {
					t.Errorf("%s to %v (-want +got)\n%s", path, to, diff)
				}
			}
			must(t, r.Close())
		}
	}
}

// TestDrops is BC-011: what the kernel lost for want of room is counted once,
// however often one asks, and frames of others are not in it.
func TestDrops(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	for _, c := range []struct {
		path string
		open func(*Config) (Receiver, error)
	}{
		{"udp", openUDP},
		{"packet", openPacket},
		{"ring", func(c *Config) (Receiver, error) { return newRing(c, 1) }},
	} {
		s := newStream(t)
		config := s.config("[::]:5201")
		config.Interface, config.IfIndex, config.Window = b.iface, b.index, 20_000
		var r Receiver
		b.do(t, func() (err error) {
			r, err = c.open(&config)
			return err
		})
		conn := a.dial(t, server4)
		for i := range 500 {
			_, err := conn.Write(s.payload(200))
			must(t, err)
			if i%10 == 0 {
				put([]byte("\xff\xff\xff\xff\xff\xffsource\x88\xb5 of another protocol"))
				dropsOf(t, r)
			}
		}
		received := uint64(s.receive(t, r))
		drops := dropsOf(t, r)
		if received == 0 || drops == 0 || received+drops != 500 {
			t.Errorf("%s: %d received + %d dropped, of 500", c.path, received, drops)
		}
		if again := dropsOf(t, r); again != drops {
			t.Errorf("%s: %d drops, then %d", c.path, drops, again)
		}
		must(t, r.Close())
	}
}

// TestChecksum holds that no path hands over a datagram with a wrong checksum,
// though it captures no more than its head, unless nobody has looked at it.
func TestChecksum(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	const n = 20
	for _, c := range []struct {
		path     string
		verify   bool
		received int
		bad      uint64
	}{
		{"udp", false, n, 0},
		{"packet", true, n, n},
		{"ring", true, n, n},
		{"packet", false, 2 * n, 0},
		{"ring", false, 2 * n, 0},
	} {
		s := newStream(t)
		config := s.config("[::]:5201")
		config.Capture, config.Verify = 64, c.verify
		r := b.open(t, c.path, config)
		before := b.udpCounter(t, "InCsumErrors")
		for range n {
			good := testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(1000)}
			put(good.bytes())
			good.payload = s.payload(1000)
			bad := good.bytes()
			bad[len(bad)-1] ^= 1
			put(bad)
		}
		if got := s.receive(t, r); got != c.received {
			t.Errorf("%s, verify %v: %d received, want %d", c.path, c.verify, got, c.received)
		}
		if c.path == "udp" {
			if errors := b.udpCounter(t, "InCsumErrors") - before; errors != n {
				t.Errorf("udp: %d checksum errors, want %d", errors, n)
			}
		} else if bad := frames(t, r).BadChecksum; bad != c.bad {
			t.Errorf("%s, verify %v: %d bad, want %d", c.path, c.verify, bad, c.bad)
		}
	}
}

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
			"0.0.0.0:5201":         5,
			"10.0.0.2:5201":        1,
			"[::ffff:a00:2]:5201":  1,
			"[fd00::3]:5201":       1,
			"[fe80::2%veth0]:5201": 1,
			"[fe80::2%2]:5201":     1,
			"10.0.0.3:5202":        0,
		} {
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

// TestMulticast holds that a path joins the group that it listens to.
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
	for _, path := range []string{"packet", "ring"} {
		for _, taken := range []bool{false, true} {
			s := newStream(t)
			other := "0.0.0.0:5202"
			if taken {
				other = "0.0.0.0:5201"
			}
			holder := b.open(t, "udp", s.config(other))
			r := b.open(t, path, s.config("0.0.0.0:5201"))
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

// TestSuperframes is BC-120: datagrams that were never taken apart are told by
// number, and not counted as one packet.
func TestSuperframes(t *testing.T) {
	a, b := newPair(t)
	for _, path := range pathNames() {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		conn := a.dial(t, server4)
		rc, err := conn.SyscallConn()
		must(t, err)
		must(t, rc.Control(func(fd uintptr) {
			must(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, 1000))
		}))
		var train []byte
		for range 20 {
			train = append(train, s.payload(1000)...)
		}
		_, err = conn.Write(train)
		must(t, err)
		got := s.receive(t, r)
		if path == "udp" {
			if got != 20 {
				t.Errorf("udp: %d received, want 20", got)
			}
			continue
		}
		if diff := cmp.Diff(Frames{Superframes: 1}, frames(t, r)); diff != "" || got != 0 {
			t.Errorf("%s: %d received (-want +got)\n%s", path, got, diff)
		}
	}
}

// TestLinkDown is BC-082: a link that is down for a while is told once.
func TestLinkDown(t *testing.T) {
	a, b := newPair(t)
	link := b.link(t)
	for _, path := range []string{"packet", "ring"} {
		s := newStream(t)
		r := b.open(t, path, s.config("10.0.0.2:5201"))
		receive := func() (int, error) { return r.Receive(s.tracker, time.Now().Add(20*time.Millisecond)) }

		must(t, b.nl.LinkSetDown(link))
		if _, err := receive(); !errors.Is(err, unix.ENETDOWN) || !strings.Contains(err.Error(), "veth0") {
			t.Errorf("%s: link down: %v, want ENETDOWN", path, err)
		}
		if n, err := receive(); n != 0 || err != nil {
			t.Errorf("%s: link still down: %d, %v, want silence", path, n, err)
		}
		must(t, b.nl.LinkSetUp(link))
		b.awaitCarrier(t)
		a.awaitCarrier(t)
		a.wire(t)(testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(100)}.bytes())
		if n, err := receive(); n != 1 || err != nil {
			t.Errorf("%s: link up again: %d, %v, want 1 datagram", path, n, err)
		}
	}
}

// TestInterfaceRemoved is BC-080: a receiver whose interface is gone says so
// each time, at once, and does not spin until then.
func TestInterfaceRemoved(t *testing.T) {
	for _, path := range []string{"packet", "ring"} {
		_, b := newPair(t)
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		var removed error
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			time.Sleep(100 * time.Millisecond)
			link, err := b.nl.LinkByName(b.iface)
			removed = errors.Join(err, b.nl.LinkDel(link))
		}()
		before := processTime(t)
		begun := time.Now()
		var err error
		for err == nil || errors.Is(err, unix.ENETDOWN) {
			_, err = r.Receive(s.tracker, time.Now().Add(100*time.Millisecond))
			if time.Since(begun) > 3*time.Second {
				t.Fatalf("%s: no end: %v", path, err)
			}
		}
		<-gone
		must(t, removed)
		if !errors.Is(err, unix.ENODEV) || !strings.Contains(err.Error(), "veth0 was removed") {
			t.Errorf("%s: %v, want ENODEV", path, err)
		}
		if used := processTime(t) - before; used > time.Since(begun)/4 {
			t.Errorf("%s: %v of processor time in %v", path, used, time.Since(begun))
		}
		begun = time.Now()
		if _, err := r.Receive(s.tracker, begun.Add(time.Second)); !errors.Is(err, unix.ENODEV) || time.Since(begun) > 200*time.Millisecond {
			t.Errorf("%s: afterwards %v in %v, want ENODEV at once", path, err, time.Since(begun))
		}
		if drops := dropsOf(t, r); drops != 0 {
			t.Errorf("%s: %d drops", path, drops)
		}
	}
}

// processTime is the processor time that this process has used.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var ts unix.Timespec
	must(tb, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// TestUntil holds that Receive keeps the time that it was given.
func TestUntil(t *testing.T) {
	_, b := newPair(t)
	for _, path := range pathNames() {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		for _, wait := range []time.Duration{-time.Second, 0, time.Millisecond, 20 * time.Millisecond} {
			begun := time.Now()
			n, err := r.Receive(s.tracker, begun.Add(wait))
			took := time.Since(begun)
			if n != 0 || err != nil || took < wait || took > max(wait, 0)+100*time.Millisecond {
				t.Errorf("%s: %v: %d, %v after %v", path, wait, n, err, took)
			}
		}
	}
}

func TestWindow(t *testing.T) {
	_, b := newPair(t)
	for _, path := range []string{"udp", "packet"} {
		s := newStream(t)
		c := s.config("[::]:5201")
		c.Window = 16 << 20 // above net.core.rmem_max
		if got := b.open(t, path, c).(Buffered).Window(); got != 32<<20 {
			t.Errorf("%s: window of %d, want twice %d", path, got, c.Window)
		}
	}
}

func TestRefused(t *testing.T) {
	_, b := newPair(t)
	b.do(t, func() error {
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: netlink.TUNTAP_MODE_TUN})
	})
	for _, path := range []string{"packet", "ring"} {
		for iface, want := range map[string]string{
			"lo":    "rx " + path + ": lo carries no Ethernet frames; use --rx udp",
			"tun0":  "rx " + path + ": tun0 carries no Ethernet frames; use --rx udp",
			"":      "rx " + path + ": a packet socket needs an interface: give --iface; use --rx udp",
			"veth9": "rx " + path + ": interface veth9: route ip+net: no such network interface; use --rx udp",
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
		case p.Name == "udp":
			must(t, err)
		case !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "CAP_NET_RAW"):
			t.Errorf("%s: %v, want a word of CAP_NET_RAW", p.Name, err)
		}
	}
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
	for _, path := range pathNames() {
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
	const want = `no receive path "rings" here; there is udp, ring, packet`
	if _, err := Find("rings"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
