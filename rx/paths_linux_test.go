package rx

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/rx/track"
)

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
						if kernelPath(path) && kind.name == "tagged" {
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
						if kernelPath(path) {
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
		must(t, r.Close())
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
			if !kernelPath(path) {
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
		{"gro", openGRO},
		{"packet", openPacket},
		{"ring", func(c *Config) (Receiver, error) { return newRing(c, 1) }},
		{"afxdp", func(c *Config) (Receiver, error) { return newAFXDP(c, 1, false) }},
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
		{"gro", false, n, 0},
		{"packet", true, n, n},
		{"ring", true, n, n},
		{"packet", false, 2 * n, 0},
		{"ring", false, 2 * n, 0},
		{"afxdp", true, n, n},
		{"afxdp", false, 2 * n, 0},
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
		if kernelPath(c.path) {
			if errors := b.udpCounter(t, "InCsumErrors") - before; errors != n {
				t.Errorf("%s: %d checksum errors, want %d", c.path, errors, n)
			}
		} else if bad := frames(t, r).BadChecksum; bad != c.bad {
			t.Errorf("%s, verify %v: %d bad, want %d", c.path, c.verify, bad, c.bad)
		}
		must(t, r.Close())
	}
}

// TestTwoTags holds that the outer tag, which the kernel takes out, is the one
// that is told.
func TestTwoTags(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	for _, path := range []string{"packet", "ring"} {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		frame := testFrame{srcMAC: a.mac, dstMAC: b.mac, tags: []uint16{200, 100}, src: client4, dst: server4, payload: s.payload(500)}.bytes()
		put(frame)
		copy(frame[12:], "\x88\xa8") // a service tag
		put(frame)
		if got := s.receive(t, r); got != 2 {
			t.Errorf("%s: %d received, want 2", path, got)
		}
		if diff := cmp.Diff(Frames{Tagged: 2, TCI: 200}, frames(t, r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		must(t, r.Close())
	}
}

// TestPriorityTag is BC-046: the tag of a priority alone, of VLAN 0, is seen.
func TestPriorityTag(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	for _, path := range []string{"packet", "ring", "afxdp"} {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		for _, tci := range []uint16{0, 5 << 13} {
			put(testFrame{srcMAC: a.mac, dstMAC: b.mac, tags: []uint16{tci}, src: client4, dst: server4, payload: s.payload(500)}.bytes())
		}
		if got := s.receive(t, r); got != 2 {
			t.Errorf("%s: %d received, want 2", path, got)
		}
		if diff := cmp.Diff(Frames{Tagged: 2, TCI: 5 << 13}, frames(t, r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		must(t, r.Close())
	}
}

// TestMalformed holds that frames whose lengths contradict each other are
// counted, and not as datagrams.
func TestMalformed(t *testing.T) {
	a, b := newPair(t)
	put := a.wire(t)
	for _, path := range []string{"packet", "ring", "afxdp"} {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		put(testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(100), udpLen: 109}.bytes())
		if got := s.receive(t, r); got != 0 {
			t.Errorf("%s: %d received, want none", path, got)
		}
		if diff := cmp.Diff(Frames{Malformed: 1}, frames(t, r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		must(t, r.Close())
	}
}
