package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"
)

var (
	here4, there4 = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	here6, there6 = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	new4, new6    = netip.MustParseAddr("10.77.0.2"), netip.MustParseAddr("fd77::2")
)

// build makes a frame with right checksums, by gopacket: the reference.
func build(t testing.TB, v6 bool, tags []uint16, proto layers.IPProtocol, src, dst netip.Addr, payload []byte) []byte {
	t.Helper()
	next := layers.EthernetTypeIPv4
	if v6 {
		next = layers.EthernetTypeIPv6
	}
	ether := &layers.Ethernet{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: next,
	}
	stack := []gopacket.SerializableLayer{ether}
	for i, id := range tags {
		tag := &layers.Dot1Q{Priority: 5, VLANIdentifier: id, Type: next}
		if i < len(tags)-1 {
			tag.Type = layers.EthernetTypeDot1Q
		}
		ether.EthernetType = layers.EthernetTypeDot1Q
		stack = append(stack, tag)
	}
	var network gopacket.NetworkLayer
	if v6 {
		ip := &layers.IPv6{Version: 6, NextHeader: proto, HopLimit: 64, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		stack, network = append(stack, ip), ip
	} else {
		ip := &layers.IPv4{Version: 4, IHL: 5, Protocol: proto, TTL: 64, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		stack, network = append(stack, ip), ip
	}
	switch proto {
	case layers.IPProtocolUDP:
		udp := &layers.UDP{SrcPort: 1, DstPort: 2}
		check(t, udp.SetNetworkLayerForChecksum(network))
		stack = append(stack, udp)
	case layers.IPProtocolTCP:
		tcp := &layers.TCP{SrcPort: 1, DstPort: 2, ACK: true, Window: 100}
		check(t, tcp.SetNetworkLayerForChecksum(network))
		stack = append(stack, tcp)
	case layers.IPProtocolICMPv4:
		stack = append(stack, &layers.ICMPv4{TypeCode: 0x0800, Id: 1, Seq: 2})
	case layers.IPProtocolICMPv6:
		icmp := &layers.ICMPv6{TypeCode: 0x8000}
		check(t, icmp.SetNetworkLayerForChecksum(network))
		stack = append(stack, icmp)
	}
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	check(t, gopacket.SerializeLayers(b, options, append(stack, gopacket.Payload(payload))...))
	return bytes.Clone(b.Bytes())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What gopacket makes of other addresses is what rewriting makes of the frame, and
// a spoiled checksum is noticed and comes right; whatever the protocol and payload.
func TestRewritingAgreesWithGopacket(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v6 := rapid.Bool().Draw(r, "v6")
		protos := []layers.IPProtocol{layers.IPProtocolUDP, layers.IPProtocolTCP, layers.IPProtocolICMPv4}
		here, there, new := here4, there4, new4
		if v6 {
			protos[2] = layers.IPProtocolICMPv6
			here, there, new = here6, there6, new6
		}
		proto := rapid.SampledFrom(protos).Draw(r, "proto")
		payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "payload")
		tags := rapid.SampledFrom([][]uint16{nil, {7}, {7, 8}}).Draw(r, "tags")
		both := rapid.Bool().Draw(r, "both")

		got := build(t, v6, tags, proto, here, there, payload)
		l := parse(got)
		if l.ip == 0 || l.l4 == 0 || l.end > len(got) {
			r.Fatalf("layout %+v of %d bytes", l, len(got))
		}
		spoil := rapid.Bool().Draw(r, "spoil")
		if spoil {
			got[l.checksum()] ^= 0x55
			if l.without(got) {
				return // a zero says that there is none
			}
		}
		rewrite := Rewrite{Dst: []Swap{{Old: there, New: new}}}
		src := here
		if both {
			rewrite.Src, src = []Swap{{New: new}}, new
		}
		got, wrong := rewrite.Apply(got)
		if wrong != spoil {
			r.Errorf("wrong before: %v, want %v", wrong, spoil)
		}
		if want := build(t, v6, tags, proto, src, new, payload); !bytes.Equal(got, want) {
			r.Errorf("%v\n%x, want\n%x", proto, got, want)
		}
	})
}

func TestAddressesThatWereNotAskedForStay(t *testing.T) {
	f := build(t, false, nil, layers.IPProtocolUDP, here4, there4, []byte("hello"))
	want := bytes.Clone(f)
	rewrite := Rewrite{Src: []Swap{{Old: there4, New: new4}, {New: new6}}, Dst: []Swap{{Old: here4, New: new4}}}
	if got, wrong := rewrite.Apply(f); wrong || !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestTagAndMAC(t *testing.T) {
	id := uint16(100)
	src, dst := net.HardwareAddr{2, 0, 0, 0, 0, 8}, net.HardwareAddr{2, 0, 0, 0, 0, 9}
	rewrite := Rewrite{VLAN: &id, SrcMAC: src, DstMAC: dst}
	for name, tags := range map[string][]uint16{"untagged": nil, "tagged": {7}, "twice": {7, 8}} {
		got, _ := rewrite.Apply(build(t, false, tags, layers.IPProtocolUDP, here4, there4, make([]byte, 50)))
		p := gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default)
		ether := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		outer := p.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q)
		wantPriority := uint8(5)
		if len(tags) == 0 {
			wantPriority = 0
		}
		if !bytes.Equal(ether.SrcMAC, src) || !bytes.Equal(ether.DstMAC, dst) || outer.VLANIdentifier != id || outer.Priority != wantPriority {
			t.Errorf("%s: %v > %v, vlan %d priority %d", name, ether.SrcMAC, ether.DstMAC, outer.VLANIdentifier, outer.Priority)
		}
		if want := max(len(tags), 1); len(got) != 14+4*want+20+8+50 || p.ErrorLayer() != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), p.ErrorLayer())
		}
	}
}

// The checksum of a first fragment is that of the whole datagram, whose addresses
// change as much.
func TestAFirstFragmentIsAmended(t *testing.T) {
	payload := bytes.Repeat([]byte("fragment"), 100)
	whole := build(t, false, nil, layers.IPProtocolUDP, here4, there4, payload)
	moved := build(t, false, nil, layers.IPProtocolUDP, here4, new4, payload)
	first := bytes.Clone(whole[:14+20+400])
	const total = 420
	first[16], first[17] = total>>8, total&0xff
	first[20] = 0x20 // more fragments
	got, wrong := (&Rewrite{Dst: []Swap{{New: new4}}}).Apply(first)
	if !wrong {
		t.Error("the header's checksum was wrong, and it was not noticed")
	}
	if want := moved[40:42]; !bytes.Equal(got[40:42], want) {
		t.Errorf("checksum %x, want %x", got[40:42], want)
	}
	if packet, payload := Sizes(got); packet != total || payload != 0 {
		t.Errorf("%d bytes of packet and %d of payload", packet, payload)
	}
}

// What stands behind a datagram in its IP packet is not under its checksum.
func TestADatagramShorterThanItsPacket(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		here, there := here4, there4
		if v6 {
			here, there = here6, there6
		}
		f := append(build(t, v6, nil, layers.IPProtocolUDP, here, there, []byte("hello")), "options"...)
		l := parse(f)
		if v6 {
			binary.BigEndian.PutUint16(f[l.ip+4:], uint16(len(f)-l.ip-40))
		} else {
			binary.BigEndian.PutUint16(f[l.ip+2:], uint16(len(f)-l.ip))
		}
		f, _ = (&Rewrite{}).Apply(f) // mends that of IPv4
		want := fmt.Sprintf("%x", f)
		again, wrong := (&Rewrite{}).Apply(f)
		if got := fmt.Sprintf("%x", again); got != want || wrong {
			t.Errorf("v6 %v: %s, then %s (wrong: %v)", v6, want, got, wrong)
		}
		udp := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
		whole := build(t, v6, nil, layers.IPProtocolUDP, here, there, []byte("hello"))
		l = parse(whole)
		if at := l.checksum(); udp.Checksum != binary.BigEndian.Uint16(whole[at:]) {
			t.Errorf("v6 %v: checksum %x, want %x", v6, udp.Checksum, whole[at:at+2])
		}
		if _, payload := Sizes(f); payload != len("hello") {
			t.Errorf("v6 %v: %d bytes of payload", v6, payload)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		proto           layers.IPProtocol
		v6              bool
		packet, payload int
	}{
		{layers.IPProtocolUDP, false, 128, 100},
		{layers.IPProtocolUDP, true, 148, 100},
		{layers.IPProtocolTCP, false, 140, 100},
		{layers.IPProtocolICMPv4, false, 128, 0},
	} {
		here, there := here4, there4
		if c.v6 {
			here, there = here6, there6
		}
		f := build(t, c.v6, nil, c.proto, here, there, make([]byte, 100))
		if packet, payload := Sizes(append(f, 0, 0, 0)); packet != c.packet || payload != c.payload { // a trailer
			t.Errorf("%v: %d bytes of packet and %d of payload, want %d and %d", c.proto, packet, payload, c.packet, c.payload)
		}
	}
	if packet, payload := Sizes(make([]byte, 60)); packet != 0 || payload != 0 {
		t.Errorf("not IP: %d, %d", packet, payload)
	}
}

// No frame is too odd to rewrite, and a second time changes nothing.
func FuzzRewrite(f *testing.F) {
	f.Add(build(f, false, []uint16{7}, layers.IPProtocolUDP, here4, there4, []byte("hello")))
	f.Add(build(f, true, nil, layers.IPProtocolTCP, here6, there6, []byte("hello")))
	f.Add(build(f, true, nil, layers.IPProtocolICMPv6, here6, there6, nil))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < etherHeader {
			return
		}
		id := uint16(5)
		r := Rewrite{VLAN: &id, Src: []Swap{{New: new4}, {New: new6}}}
		once, _ := r.Apply(frame)
		want := fmt.Sprintf("%x", once)
		again, wrong := r.Apply(once)
		if got := fmt.Sprintf("%x", again); got != want || wrong {
			t.Errorf("%s, then %s (wrong: %v)", want, got, wrong)
		}
	})
}
