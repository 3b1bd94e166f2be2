package frame_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"linerate/gen/frame"
	"linerate/internal/probe"
)

var (
	formats  = []probe.Format{probe.Native, probe.IPerf2, probe.IPerf3, probe.IPerf3Wide}
	patterns = []string{"ramp", "zero", "random"}
)

// headers are those of a test in the documentation's address ranges.
func headers(ipv6 bool, vlan *uint16) frame.Headers {
	h := frame.Headers{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, VLAN: vlan,
		Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("198.51.100.2"),
		SrcPort: 40000, DstPort: 5201, TOS: 46 << 2, TTL: 64,
	}
	if ipv6 {
		h.Src, h.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:ffff::2")
	}
	return h
}

func pattern(t interface{ Fatal(...any) }, name string) probe.Pattern {
	p, err := probe.ParsePattern(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checksum is RFC 1071's, word by word, over all the parts one after the other.
// The right checksum field makes it 0.
func checksum(parts ...[]byte) uint16 {
	var b []byte
	for _, part := range parts {
		b = append(b, part...)
	}
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	sum := 0
	for i := 0; i < len(b); i += 2 {
		sum += int(b[i])<<8 + int(b[i+1])
		if sum > 0xffff {
			sum -= 0xffff
		}
	}
	return ^uint16(sum)
}

// A packet is what a test stamps into a slot.
type packet struct {
	flow uint16
	seq  uint64
	size int
	mono int64
}

// checkFrame decodes a frame and compares everything in it with what the
// template was asked for.
func checkFrame(h frame.Headers, s probe.Stamper, p probe.Pattern, pkt packet, b []byte) error {
	decoded := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.DecodeOptions{NoCopy: true})
	eth, _ := decoded.LinkLayer().(*layers.Ethernet)
	if eth == nil || !bytes.Equal(eth.SrcMAC, h.SrcMAC) || !bytes.Equal(eth.DstMAC, h.DstMAC) {
		return fmt.Errorf("Ethernet header %+v", eth)
	}
	tag, _ := decoded.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q)
	if (tag != nil) != (h.VLAN != nil) || tag != nil && tag.VLANIdentifier != *h.VLAN {
		return fmt.Errorf("VLAN tag %+v", tag)
	}
	var pseudo []byte // addresses
	headerLen := 14
	if tag != nil {
		headerLen += 4
	}
	if h.Dst.Is4() {
		ip, _ := decoded.NetworkLayer().(*layers.IPv4)
		if ip == nil || int(ip.Length) != 28+pkt.size || ip.Id != 0 || ip.Flags != layers.IPv4DontFragment || ip.FragOffset != 0 ||
			ip.IHL != 5 || ip.TOS != h.TOS || ip.TTL != h.TTL {
			return fmt.Errorf("IPv4 header %+v", ip)
		}
		if got := checksum(ip.Contents); got != 0 {
			return fmt.Errorf("IPv4 checksum is wrong by %#x", got)
		}
		pseudo = append(append(pseudo, ip.SrcIP.To4()...), ip.DstIP.To4()...)
		headerLen += 28
	} else {
		ip, _ := decoded.NetworkLayer().(*layers.IPv6)
		if ip == nil || int(ip.Length) != 8+pkt.size || ip.FlowLabel != 0 || ip.TrafficClass != h.TOS || ip.HopLimit != h.TTL {
			return fmt.Errorf("IPv6 header %+v", ip)
		}
		pseudo = append(append(pseudo, ip.SrcIP...), ip.DstIP...)
		headerLen += 48
	}
	if want := append(h.Src.AsSlice(), h.Dst.AsSlice()...); !bytes.Equal(pseudo, want) {
		return fmt.Errorf("addresses %x, want %x", pseudo, want)
	}
	udp, _ := decoded.TransportLayer().(*layers.UDP)
	if udp == nil || int(udp.Length) != 8+pkt.size || int(udp.SrcPort) != int(h.SrcPort)+int(pkt.flow) || uint16(udp.DstPort) != h.DstPort {
		return fmt.Errorf("UDP header %+v", udp)
	}
	if udp.Checksum == 0 {
		return fmt.Errorf("no UDP checksum")
	}
	pseudo = append(pseudo, 0, 17, byte(udp.Length>>8), byte(udp.Length))
	if got := checksum(pseudo, udp.Contents, udp.Payload); got != 0 {
		return fmt.Errorf("UDP checksum is wrong by %#x", got)
	}
	want := make([]byte, pkt.size)
	p.Fill(want, 0)
	s.Format.Init(want)
	s.Put(want, pkt.flow, pkt.seq, pkt.mono)
	if !bytes.Equal(want, udp.Payload) {
		return fmt.Errorf("payload (-want +got):\n%s", cmp.Diff(want, udp.Payload))
	}
	if n := max(headerLen+pkt.size, 60); len(b) != n {
		return fmt.Errorf("%d bytes, want %d", len(b), n)
	}
	if pad := b[headerLen+pkt.size:]; !bytes.Equal(pad, make([]byte, len(pad))) {
		return fmt.Errorf("padding %x is not zero", pad)
	}
	return nil
}

// Every size class, one template each, in a slot that is stamped over and over.
func TestStamp(t *testing.T) {
	vlan := uint16(100)
	sizes := [][]int{
		{18}, {19}, {20}, {21}, {63}, {64}, {159}, {160}, {161}, {162}, {1470}, {1471}, {1472}, {8971}, {8972}, {65507},
		{18, 548, 1472},      // IMIX
		{1472, 548, 18, 549}, // in another order
		{12, 13, 17, 18, 40}, // iperf3 only: padded and not
		{12},
	}
	for _, ipv6 := range []bool{false, true} {
		for _, tag := range []*uint16{nil, &vlan} {
			for _, format := range formats {
				for i, sizes := range sizes {
					for _, flows := range []int{1, 64} {
						if min(sizes[0], sizes[len(sizes)-1]) < format.Size() {
							continue
						}
						h, p := headers(ipv6, tag), pattern(t, patterns[i%len(patterns)])
						s := probe.Stamper{Format: format, Run: 0xabcd, WallOffset: 1.7e18}
						template, err := frame.New(h, s, sizes, flows, p)
						if err != nil {
							t.Fatal(err)
						}
						slot := bytes.Repeat([]byte{0xa5}, template.MaxFrameLen())
						template.Fill(slot)
						for k := range 3 * len(sizes) {
							pkt := packet{uint16(k * 5 % flows), uint64(k) << 30, sizes[k*7%len(sizes)], int64(k) * 1e15}
							n := template.Stamp(slot, pkt.flow, pkt.seq, pkt.size, pkt.mono)
							if err := checkFrame(h, s, p, pkt, slot[:n]); err != nil {
								t.Fatalf("IPv6 %v, VLAN %v, %v, sizes %v, %d flows, packet %d of %d bytes: %v",
									ipv6, tag != nil, format, sizes, flows, k, pkt.size, err)
							}
							if n != template.FrameLen(pkt.size) {
								t.Fatalf("Stamp says %d bytes, FrameLen %d", n, template.FrameLen(pkt.size))
							}
						}
					}
				}
			}
		}
	}
}

// Any packets of any test, in any order, in one slot.
func TestStampProperty(t *testing.T) {
	byName := map[string]probe.Pattern{}
	for _, name := range patterns {
		byName[name] = pattern(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		var tag *uint16
		if rapid.Bool().Draw(t, "tagged") {
			id := rapid.Uint16Max(4095).Draw(t, "vlan")
			tag = &id
		}
		h := headers(rapid.Bool().Draw(t, "ipv6"), tag)
		h.Src = address(t, "src", h.Src.Is4())
		h.Dst = address(t, "dst", h.Dst.Is4())
		h.TOS, h.TTL = rapid.Byte().Draw(t, "tos"), rapid.Byte().Draw(t, "ttl")
		h.DstPort = rapid.Uint16Min(1).Draw(t, "dport")
		h.SrcPort = rapid.Uint16Min(1).Draw(t, "sport")
		flows := rapid.IntRange(1, 65536-int(h.SrcPort)).Draw(t, "flows")
		s := probe.Stamper{
			Format: rapid.SampledFrom(formats).Draw(t, "format"), Run: rapid.Uint16().Draw(t, "run"),
			WallOffset: rapid.Int64Range(0, 1<<61).Draw(t, "wall"),
		}
		sizes := rapid.SliceOfN(rapid.IntRange(s.Format.Size(), 9000), 1, 5).Draw(t, "sizes")
		p := byName[rapid.SampledFrom(patterns).Draw(t, "pattern")]
		template, err := frame.New(h, s, sizes, flows, p)
		if err != nil {
			t.Fatal(err)
		}
		slot := make([]byte, template.MaxFrameLen())
		template.Fill(slot)
		for range 10 {
			pkt := packet{
				flow: uint16(rapid.IntRange(0, flows-1).Draw(t, "flow")), seq: rapid.Uint64Max(1<<63-2).Draw(t, "seq"),
				size: rapid.SampledFrom(sizes).Draw(t, "size"), mono: rapid.Int64Range(0, 1<<61).Draw(t, "mono"),
			}
			n := template.Stamp(slot, pkt.flow, pkt.seq, pkt.size, pkt.mono)
			if err := checkFrame(h, s, p, pkt, slot[:n]); err != nil {
				t.Fatalf("%+v: %v", pkt, err)
			}
		}
	})
}

func address(t *rapid.T, label string, ipv4 bool) netip.Addr {
	n := 16
	if ipv4 {
		n = 4
	}
	a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label))
	if a.Is4In6() {
		a = netip.MustParseAddr("2001:db8::9")
	}
	return a
}

// A checksum that comes out as 0 goes on the wire as all ones, from Stamp and
// from Datagram.
func TestChecksumZero(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		h, p := headers(ipv6, nil), pattern(t, "ramp")
		s := probe.Stamper{Run: 1}
		template, err := frame.New(h, s, []int{18}, 1, p)
		if err != nil {
			t.Fatal(err)
		}
		slot := make([]byte, template.MaxFrameLen())
		template.Fill(slot)
		field := slot[template.HeaderLen()-2 : template.HeaderLen()]

		// Adding the complement of what the field holds to the low 16 bits of
		// the time brings the sum to all ones, and so its complement to 0.
		template.Stamp(slot, 0, 0, 18, 0)
		pkt := packet{size: 18, mono: int64(field[0])<<8 | int64(field[1])}
		template.Stamp(slot, 0, 0, 18, pkt.mono)
		if field[0] != 0xff || field[1] != 0xff {
			t.Errorf("IPv6 %v: Stamp wrote checksum %x, want ffff", ipv6, field)
		}
		if err := checkFrame(h, s, p, pkt, slot); err != nil {
			t.Errorf("IPv6 %v: %v", ipv6, err)
		}
		again := template.Datagram(0, slot[template.HeaderLen():])
		if diff := cmp.Diff(slot, again); diff != "" {
			t.Errorf("IPv6 %v: Datagram differs from Stamp (-stamp +datagram):\n%s", ipv6, diff)
		}
	}
}

// An end marker is as whole a frame as any, whatever the test's own sizes.
func TestDatagram(t *testing.T) {
	vlan := uint16(7)
	for _, ipv6 := range []bool{false, true} {
		for _, tag := range []*uint16{nil, &vlan} {
			h := headers(ipv6, tag)
			template, err := frame.New(h, probe.Stamper{}, []int{18}, 3, pattern(t, "ramp"))
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{18, 61, 499, 500} {
				payload := make([]byte, size)
				pattern(t, "random").Fill(payload, 0)
				s := probe.Stamper{}
				s.Put(payload, 2, 9, 4)
				b := template.Datagram(2, payload)
				if err := checkFrame(h, s, pattern(t, "random"), packet{2, 9, size, 4}, b); err != nil {
					t.Errorf("IPv6 %v, VLAN %v, %d bytes: %v", ipv6, tag != nil, size, err)
				}
			}
		}
	}
}

// Whole frames as bytes.
func TestGolden(t *testing.T) {
	vlan := uint16(100)
	tests := []struct {
		name string
		h    frame.Headers
		size int
		want string
	}{
		{"IPv4, 64-byte frame", headers(false, nil), 18, "020000000002" + "020000000001" + "0800" +
			"45b8002e00004000" + "40114dd0" + "c0000201" + "c6336402" +
			"9c421451001aac0d" + "b6d100070002000000000003000000000004"},
		{"IPv6 with a VLAN tag, 89-byte frame", headers(true, &vlan), 19, "020000000002" + "020000000001" + "8100" + "0064" + "86dd" +
			"6b800000001b1140" + "20010db8000000000000000000000001" + "20010db8ffff00000000000000000002" +
			"9c421451001b2ace" + "b6d10007000200000000000300000000000412"},
	}
	for _, tt := range tests {
		template, err := frame.New(tt.h, probe.Stamper{Run: 7}, []int{tt.size}, 3, pattern(t, "ramp"))
		if err != nil {
			t.Fatal(err)
		}
		slot := make([]byte, template.MaxFrameLen())
		template.Fill(slot)
		n := template.Stamp(slot, 2, 3, tt.size, 4)
		if diff := cmp.Diff(tt.want, fmt.Sprintf("%x", slot[:n])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestStampPayload(t *testing.T) {
	h := frame.Headers{Dst: netip.MustParseAddr("192.0.2.2"), DstPort: 5201} // a kernel path
	for _, format := range formats {
		s := probe.Stamper{Format: format, Run: 3, WallOffset: 1.7e18}
		p := pattern(t, "ramp")
		template, err := frame.New(h, s, []int{200, 40}, 65536, p)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 200)
		template.FillPayload(got)
		for seq := range uint64(3) {
			template.StampPayload(got, 65535, seq, 1e12)
		}
		want := make([]byte, 200)
		p.Fill(want, 0)
		format.Init(want)
		s.Put(want, 65535, 2, 1e12)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", format, diff)
		}
		if template.HeaderLen() != 42 || template.FrameLen(18) != 60 || template.MaxFrameLen() != 242 {
			t.Errorf("lengths %d, %d, %d; want 42, 60, 242", template.HeaderLen(), template.FrameLen(18), template.MaxFrameLen())
		}
	}
}

func TestNewErrors(t *testing.T) {
	id := func(n uint16) *uint16 { return &n }
	with := func(change func(*frame.Headers)) frame.Headers {
		h := headers(false, nil)
		change(&h)
		return h
	}
	tests := []struct {
		name   string
		h      frame.Headers
		format probe.Format
		sizes  []int
		flows  int
		want   string
	}{
		{"small over IPv4", headers(false, nil), probe.Native, []int{1472, 17}, 1,
			"a payload of 17 bytes has no room for the probe header of 18: the smallest frame is 64 bytes here (--frame 64 or --payload 18)"},
		{"small with a VLAN tag", headers(false, id(1)), probe.Native, []int{14}, 1,
			"a payload of 14 bytes has no room for the probe header of 18: the smallest frame is 68 bytes here (--frame 68 or --payload 18)"},
		{"small over IPv6", headers(true, nil), probe.Native, []int{0}, 1,
			"a payload of 0 bytes has no room for the probe header of 18: the smallest frame is 84 bytes here (--frame 84 or --payload 18)"},
		{"small over IPv6 with a VLAN tag", headers(true, id(1)), probe.IPerf2, []int{-6}, 1,
			"a payload of -6 bytes has no room for the iperf2 header of 18: the smallest frame is 88 bytes here (--frame 88 or --payload 18)"},
		{"small for iperf3", headers(false, nil), probe.IPerf3, []int{11}, 1,
			"a payload of 11 bytes has no room for the iperf3 header of 12: the smallest frame is 64 bytes here (--frame 64 or --payload 12)"},
		{"large", headers(true, nil), probe.Native, []int{65508}, 1,
			"a payload of 65508 bytes: the largest that a datagram carries is 65507 (--payload)"},
		{"no size", headers(true, nil), probe.Native, nil, 1, "no payload size (--payload or --frame)"},
		{"no flow", headers(true, nil), probe.Native, []int{18}, 0, "0 flows: want 1 to 65536 (--flows)"},
		{"many flows", headers(true, nil), probe.Native, []int{18}, 65537, "65537 flows: want 1 to 65536 (--flows)"},
		{"ports", headers(true, nil), probe.Native, []int{18}, 25537,
			"25537 flows from source port 40000 need ports up to 65536, the highest is 65535: start at 39999 or lower"},
		{"families", with(func(h *frame.Headers) { h.Src = netip.MustParseAddr("2001:db8::1") }), probe.Native, []int{18}, 1,
			"source 2001:db8::1 and destination 198.51.100.2 are of different IP versions: name a --bind address of the destination's"},
		{"no destination", with(func(h *frame.Headers) { h.Dst = netip.Addr{} }), probe.Native, []int{18}, 1, "no destination address"},
		{"no source", with(func(h *frame.Headers) { h.Src = netip.Addr{} }), probe.Native, []int{18}, 1,
			"no source address: a raw path needs one (--bind)"},
		{"VLAN", headers(false, id(4096)), probe.Native, []int{18}, 1, "VLAN id 4096: the highest is 4095 (--vlan)"},
		{"destination port", with(func(h *frame.Headers) { h.DstPort = 0 }), probe.Native, []int{18}, 1,
			"destination port 0: name a port from 1 to 65535 (--port)"},
		{"source port", with(func(h *frame.Headers) { h.SrcPort = 0 }), probe.Native, []int{18}, 1,
			"source port 0: a raw path needs a port from 1 to 65535"},
		{"source MAC", with(func(h *frame.Headers) { h.SrcMAC = nil }), probe.Native, []int{18}, 1,
			`source MAC address "" is not 6 bytes long (--src-mac)`},
		{"destination MAC", with(func(h *frame.Headers) { h.DstMAC = h.DstMAC[:5] }), probe.Native, []int{18}, 1,
			`destination MAC address "02:00:00:00:00" is not 6 bytes long (--dst-mac)`},
	}
	for _, tt := range tests {
		_, err := frame.New(tt.h, probe.Stamper{Format: tt.format}, tt.sizes, tt.flows, pattern(t, "zero"))
		if err == nil {
			t.Errorf("%s: took it", tt.name)
		} else if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// An address in IPv6's mapping of IPv4 is IPv4.
func TestMappedAddress(t *testing.T) {
	h := headers(false, nil)
	h.Dst = netip.AddrFrom16(h.Dst.As16())
	template, err := frame.New(h, probe.Stamper{}, []int{18}, 1, pattern(t, "ramp"))
	if err != nil {
		t.Fatal(err)
	}
	slot := make([]byte, template.MaxFrameLen())
	template.Fill(slot)
	template.Stamp(slot, 0, 1, 18, 2)
	if err := checkFrame(headers(false, nil), probe.Stamper{}, pattern(t, "ramp"), packet{0, 1, 18, 2}, slot); err != nil {
		t.Error(err)
	}
}

func TestAllocs(t *testing.T) {
	for _, format := range formats {
		for _, ipv6 := range []bool{false, true} {
			template, err := frame.New(headers(ipv6, nil), probe.Stamper{Format: format}, []int{18, 1472}, 64, pattern(t, "ramp"))
			if err != nil {
				t.Fatal(err)
			}
			slot := make([]byte, template.MaxFrameLen())
			template.Fill(slot)
			var seq uint64
			allocs := testing.AllocsPerRun(100, func() {
				template.Stamp(slot, uint16(seq%64), seq, 18+1454*int(seq%2), int64(seq))
				template.StampPayload(slot[template.HeaderLen():], 1, seq, int64(seq))
				template.StampSuper(slot, 1, 18, 64)
				seq++
			})
			if allocs != 0 {
				t.Errorf("%v, IPv6 %v: %v allocations a packet, want none", format, ipv6, allocs)
			}
		}
	}
}

func BenchmarkStamp(b *testing.B) {
	for _, bb := range []struct {
		name   string
		format probe.Format
		ipv6   bool
		sizes  []int
	}{
		{"probe/IPv4", probe.Native, false, []int{18}},
		{"probe/IPv4/IMIX", probe.Native, false, []int{18, 548, 1472}},
		{"probe/IPv6", probe.Native, true, []int{1452}},
		{"iperf2/IPv4", probe.IPerf2, false, []int{1472}},
		{"iperf3/IPv4", probe.IPerf3, false, []int{1472}},
		{"iperf3/IPv4/padded", probe.IPerf3, false, []int{12}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			template, err := frame.New(headers(bb.ipv6, nil), probe.Stamper{Format: bb.format}, bb.sizes, 64, pattern(b, "ramp"))
			if err != nil {
				b.Fatal(err)
			}
			slot := make([]byte, template.MaxFrameLen())
			template.Fill(slot)
			var seq uint64
			for b.Loop() {
				template.Stamp(slot, uint16(seq&63), seq, bb.sizes[seq%uint64(len(bb.sizes))], int64(seq))
				seq++
			}
		})
	}
}
