package bpf

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
)

const (
	testPort  = 5201
	testMagic = 0xb6d1

	shot     = 2 // TC_ACT_SHOT
	redirect = 7 // TC_ACT_REDIRECT
)

// bytesOf concatenates network-order fields.
func bytesOf(fields ...any) []byte {
	var b bytes.Buffer
	for _, f := range fields {
		if err := binary.Write(&b, binary.BigEndian, f); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

var (
	macs     = make([]byte, 12)
	dot1Q    = bytesOf(uint16(0x8100), uint16(5))
	ipv4Type = bytesOf(uint16(0x0800))
	ipv6Type = bytesOf(uint16(0x86dd))
)

// ipv4 is a header with options of so many words.
func ipv4(protocol uint8, fragment uint16, options int) []byte {
	return bytesOf(uint8(0x45+options), uint8(0), uint16(100), uint16(1), fragment,
		uint8(64), protocol, uint16(0), uint32(1), uint32(2), make([]uint32, options))
}

func ipv6(next uint8) []byte {
	return bytesOf(uint32(0x60000000), uint16(50), next, uint8(64), make([]byte, 32))
}

func udp(port uint16, payload []byte) []byte {
	return bytesOf(uint16(4000), port, uint16(8+len(payload)), uint16(0), payload)
}

func probeOf(magic uint16, seq uint64) []byte {
	return bytesOf(magic, uint16(0), seq, make([]byte, 6))
}

// skb is struct __sk_buff of linux/bpf.h, as far as a test sets it.
type skb struct {
	_       [164]byte
	GSOSegs uint32
	_       [8]byte // sk
	GSOSize uint32
	_       [12]byte // tstamp_type, hwtstamp
}

// run loads an impairer with rules and gives it one frame, with nowhere to go.
func run(t *testing.T, rules Impairment, ctx *skb, frame []byte) (verdict uint32, out []byte, counts impairCounts) {
	t.Helper()
	spec, err := loadImpair()
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Variables[impairVarRules].Set(rules.encode(1<<30, 1<<30)); err != nil {
		t.Fatal(err)
	}
	var objects impairObjects
	if err := spec.LoadAndAssign(&objects, nil); err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	options := &ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256)}
	if ctx != nil {
		options.Context = ctx
	}
	verdict, err = objects.Impair.Run(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := objects.Counts.Get(&counts); err != nil {
		t.Fatal(err)
	}
	return verdict, options.DataOut, counts
}

// The impairer knows which frames are its own.
func TestImpairerMatches(t *testing.T) {
	const udpProto, tcpProto, fragmentHeader = 17, 6, 44
	data := probeOf(testMagic, 1)
	tests := map[string]struct {
		frame []byte
		any   bool // without a magic
		match bool
	}{
		"IPv4":                    {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, data)), false, true},
		"IPv4, don't fragment":    {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0x4000, 0), udp(testPort, data)), false, true},
		"IPv4 options":            {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 10), udp(testPort, data)), false, true},
		"IPv4 first fragment":     {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0x2000, 0), udp(testPort, data)), false, false},
		"IPv4 later fragment":     {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0x0001, 0), udp(testPort, data)), false, false},
		"IPv4 TCP":                {slices.Concat(macs, ipv4Type, ipv4(tcpProto, 0, 0), udp(testPort, data)), false, false},
		"IPv4 tagged":             {slices.Concat(macs, dot1Q, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, data)), false, true},
		"IPv6":                    {slices.Concat(macs, ipv6Type, ipv6(udpProto), udp(testPort, data)), false, true},
		"IPv6 tagged":             {slices.Concat(macs, dot1Q, ipv6Type, ipv6(udpProto), udp(testPort, data)), false, true},
		"IPv6 extension":          {slices.Concat(macs, ipv6Type, ipv6(fragmentHeader), udp(testPort, data)), false, false},
		"other port":              {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort+1, data)), false, false},
		"other magic":             {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, probeOf(1, 1))), false, false},
		"other magic, any format": {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, probeOf(1, 1))), true, true},
		"short probe":             {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, data[:17])), false, false},
		"empty, any format":       {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, nil)), true, true},
		"cut off":                 {slices.Concat(macs, ipv4Type, ipv4(udpProto, 0, 0), udp(testPort, data)[:7]), true, false},
		"ARP":                     {slices.Concat(macs, bytesOf(uint16(0x0806)), make([]byte, 46)), true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rules := Impairment{Port: testPort, Magic: testMagic, DropEvery: 1}
			if test.any {
				rules.Magic = 0
			}
			verdict, _, got := run(t, rules, nil, test.frame)
			want, wantVerdict := impairCounts{}, uint32(redirect)
			if test.match {
				want, wantVerdict = impairCounts{Seen: 1, Dropped: 1}, shot
			}
			if verdict != wantVerdict || got != want {
				t.Errorf("verdict %d with %+v, want %d with %+v", verdict, got, wantVerdict, want)
			}
		})
	}
}

// One payload byte is inverted and nothing else, also where it is the last of an
// odd number, and an empty payload is left alone.
func TestImpairerCorrupts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 18} {
		payload := bytes.Repeat([]byte{0x5a}, n)
		frame := slices.Concat(macs, ipv4Type, ipv4(17, 0, 0), udp(testPort, payload))
		_, got, counts := run(t, Impairment{CorruptEvery: 1, MendChecksum: true}, nil, frame)
		want := slices.Clone(frame)
		var corrupted uint64
		if n > 0 {
			want[len(want)-1] = 0xa5
			corrupted = 1
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", n, diff)
		}
		if counts.Corrupted != corrupted {
			t.Errorf("%d bytes: %d corrupted, want %d", n, counts.Corrupted, corrupted)
		}
	}
}

// A frame that is yet to be segmented is counted and passes untouched.
func TestImpairerSparesSuperframes(t *testing.T) {
	frame := slices.Concat(macs, ipv4Type, ipv4(17, 0, 0), udp(testPort, probeOf(testMagic, 1)))
	verdict, _, got := run(t, Impairment{Port: testPort, DropEvery: 1}, &skb{GSOSegs: 2, GSOSize: 9}, frame)
	if want := (impairCounts{Superframes: 1}); verdict != redirect || got != want {
		t.Errorf("verdict %d with %+v, want %d with %+v", verdict, got, redirect, want)
	}
}
