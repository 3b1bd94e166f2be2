package rx

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/probe"
)

// source is what the tracker should be told of an address.
func source(a netip.AddrPort) probe.Source {
	return probe.Source{Addr: a.Addr().As16(), Port: a.Port()}
}

// found is a datagram in a form that compares.
type found struct {
	Payload          string
	Size             int
	From             probe.Source
	Fragment, Tagged bool
	TCI              uint16
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name    string
		frame   testFrame
		capture int // bytes of the frame; 0 for all
		want    found
	}{
		{"IPv4", testFrame{src: client4, dst: server4, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client4)}},
		{"IPv6", testFrame{src: client6, dst: server6, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client6)}},
		{"IPv4 empty", testFrame{src: client4, dst: server4}, 0,
			found{From: source(client4)}},
		{"IPv4 with options", testFrame{src: client4, dst: server4, options: 40, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client4)}},
		{"IPv4 padded", testFrame{src: client4, dst: server4, payload: []byte("hello"), trailer: 13}, 0,
			found{Payload: "hello", Size: 5, From: source(client4)}},
		{"IPv4 longer than its UDP", testFrame{src: client4, dst: server4, payload: []byte("hello"), udpLen: 10}, 0,
			found{Payload: "he", Size: 2, From: source(client4)}},
		{"IPv4 captured in part", testFrame{src: client4, dst: server4, payload: make([]byte, 8972)}, 14 + 28 + 4,
			found{Payload: "\x00\x00\x00\x00", Size: 8972, From: source(client4)}},
		{"IPv4 headers captured alone", testFrame{src: client4, dst: server4, payload: make([]byte, 8972)}, 14 + 28,
			found{Size: 8972, From: source(client4)}},
		{"IPv4 tagged", testFrame{src: client4, dst: server4, tags: []uint16{5<<13 | 100}, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client4), Tagged: true, TCI: 5<<13 | 100}},
		{"IPv6 tagged", testFrame{src: client6, dst: server6, tags: []uint16{0}, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client6), Tagged: true}},
		{"IPv4 first fragment", testFrame{src: client4, dst: server4, fragment: 0x2000, payload: []byte("hell"), udpLen: 8 + 20000}, 0,
			found{Payload: "hell", Size: 20000, From: source(client4), Fragment: true}},
		{"IPv6 first fragment", testFrame{src: client6, dst: server6, fragment: 1, payload: []byte("hell"), udpLen: 8 + 20000}, 0,
			found{Payload: "hell", Size: 20000, From: source(client6), Fragment: true}},
		{"IPv4 don't fragment", testFrame{src: client4, dst: server4, fragment: 0x4000, payload: []byte("hello")}, 0,
			found{Payload: "hello", Size: 5, From: source(client4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame := c.frame.bytes()
			length := len(frame)
			if c.capture > 0 {
				frame = frame[:c.capture]
			}
			d, ok := parse(frame, length)
			if !ok {
				t.Fatal("refused")
			}
			got := found{string(d.payload()), d.size, d.from, d.fragment, d.tagged, d.tci}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good4 := testFrame{src: client4, dst: server4, payload: []byte("hello")}
	good6 := testFrame{src: client6, dst: server6, payload: []byte("hello")}
	change := func(f testFrame, at int, to ...byte) []byte {
		b := f.bytes()
		copy(b[at:], to)
		return b
	}
	for name, frame := range map[string][]byte{
		"empty":                    nil,
		"Ethernet alone":           make([]byte, 14),
		"other Ethernet type":      change(good4, 12, 0x88, 0xb5),
		"two tags":                 testFrame{src: client4, dst: server4, tags: []uint16{1, 2}}.bytes(),
		"IPv4 version":             change(good4, 14, 0x65),
		"IPv4 header too short":    change(good4, 14, 0x44),
		"IPv4 header cut":          good4.bytes()[:14+19],
		"IPv4 longer than frame":   change(good4, 16, 0, 34),
		"IPv4 shorter than UDP":    change(good4, 16, 0, 27),
		"IPv4 shorter than itself": change(good4, 16, 0, 1),
		"IPv4 TCP":                 change(good4, 23, 6),
		"IPv4 later fragment":      testFrame{src: client4, dst: server4, fragment: 185}.bytes(),
		"IPv6 version":             change(good6, 14, 0x40),
		"IPv6 header cut":          good6.bytes()[:14+39],
		"IPv6 longer than frame":   change(good6, 18, 0, 14),
		"IPv6 TCP":                 change(good6, 20, 6),
		"IPv6 hop-by-hop options":  change(good6, 20, 0),
		"IPv6 later fragment":      testFrame{src: client6, dst: server6, fragment: 8}.bytes(),
		"IPv6 fragment of TCP":     change(testFrame{src: client6, dst: server6, fragment: 1}, 54, 6),
		"IPv6 fragment header cut": testFrame{src: client6, dst: server6, fragment: 1}.bytes()[:14+47],
		"UDP header cut":           good4.bytes()[:14+27],
		"UDP length too short":     change(good4, 38, 0, 7),
		"UDP longer than IP":       testFrame{src: client4, dst: server4, payload: []byte("hello"), udpLen: 14}.bytes(),
		"fragment without UDP":     change(testFrame{src: client4, dst: server4, fragment: 0x2000}, 16, 0, 27),
	} {
		if d, ok := parse(frame, len(frame)); ok {
			t.Errorf("%s: accepted as %+v", name, d)
		}
	}
}

// FuzzParse holds that what parse finds lies in the frame, and that a frame with
// the same fields made anew gives the same datagram.
func FuzzParse(f *testing.F) {
	for _, frame := range seeds() {
		f.Add(frame, uint16(0))
		f.Add(frame[:len(frame)/2], uint16(len(frame)-len(frame)/2))
	}
	f.Fuzz(func(t *testing.T, frame []byte, notCaptured uint16) {
		d, ok := parse(frame, len(frame)+int(notCaptured))
		if !ok {
			return
		}
		if len(d.payload()) > d.size || d.size > 1<<16-1-udpLen {
			t.Fatalf("%d bytes of a payload of %d", len(d.payload()), d.size)
		}
		if !bytes.Contains(frame, d.segment) || !bytes.Contains(frame, d.ends) {
			t.Fatal("not in the frame")
		}
		src, _ := netip.AddrFromSlice(d.ends[:len(d.ends)/2])
		dst, _ := netip.AddrFromSlice(d.ends[len(d.ends)/2:])
		again := testFrame{
			src:     netip.AddrPortFrom(src, d.from.Port),
			dst:     netip.AddrPortFrom(dst, binary.BigEndian.Uint16(d.segment[2:])),
			payload: d.payload(),
			udpLen:  udpLen + len(d.payload()),
		}.bytes()
		e, ok := parse(again, len(again))
		if !ok || e.from != d.from || !bytes.Equal(e.payload(), d.payload()) {
			t.Fatalf("from %v: made anew it is from %v, %v", d.from, e.from, ok)
		}
	})
}

func TestParseAllocs(t *testing.T) {
	frame := testFrame{src: client6, dst: server6, tags: []uint16{7}, payload: make([]byte, 100)}.bytes()
	var size int
	if n := testing.AllocsPerRun(100, func() {
		d, _ := parse(frame, len(frame))
		size += d.size
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func BenchmarkParse(b *testing.B) {
	frame := testFrame{src: client4, dst: server4, payload: make([]byte, 100)}.bytes()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parse(frame, len(frame)); !ok {
			b.Fatal("refused")
		}
	}
}

// seeds are frames for fuzzing: one of each kind.
func seeds() [][]byte {
	var all [][]byte
	for _, f := range []testFrame{
		{src: client4, dst: server4, payload: []byte("hello")},
		{src: client6, dst: server6, payload: []byte("hello")},
		{src: client4, dst: server4, options: 8, tags: []uint16{100}, payload: make([]byte, 100)},
		{src: client6, dst: server6, tags: []uint16{100}, payload: make([]byte, 100)},
		{src: client4, dst: server4, fragment: 0x2000, payload: make([]byte, 64), udpLen: 2000},
		{src: client6, dst: server6, fragment: 1, payload: make([]byte, 64), udpLen: 2000},
		{src: client4, dst: server4, noChecksum: true, trailer: 18},
	} {
		all = append(all, f.bytes())
	}
	return all
}
