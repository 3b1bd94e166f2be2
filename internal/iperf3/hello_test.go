package iperf3

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"
)

func TestHandshakeOfEveryRelease(t *testing.T) {
	for _, c := range []struct {
		bytes        string
		hello, reply bool
	}{
		{"\x39\x38\x37\x36", true, true}, // a hello, or the reply of a big-endian 3.12 to 3.16
		{"\x36\x37\x38\x39", true, true}, // the other way round
		{"\x15\xcd\x5b\x07", true, false},
		{"\x07\x5b\xcd\x15", true, false},
		{"\xb1\x68\xde\x3a", false, true},
		{"\x3a\xde\x68\xb1", false, true},
		{"Z", false, false},
		{"", false, false},
		{"9876 ", false, false},
		{"\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00", false, false}, // data of number 1
	} {
		if got := IsReply([]byte(c.bytes)); got != c.reply {
			t.Errorf("IsReply(%q) is %v", c.bytes, got)
		}
		for _, counters64 := range []bool{false, true} {
			if got := IsHello([]byte(c.bytes), counters64); got != c.hello {
				t.Errorf("IsHello(%q, %v) is %v", c.bytes, counters64, got)
			}
		}
	}
	if Hello != "\x39\x38\x37\x36" || Reply != "\x36\x37\x38\x39" {
		t.Errorf("%q, %q", Hello, Reply)
	}
}

func TestPaddedHello(t *testing.T) {
	clock := 2024*time.Second + 689661*time.Microsecond + 999*time.Nanosecond
	for _, size := range []int{16, 1448, 65507} {
		b := PaddedHello(size, clock)
		// The header of hexdump-udp-forward.txt's first datagram, but number 0.
		if len(b) != size || !bytes.Equal(b[:12], []byte{0, 0, 7, 0xe8, 0, 0x0a, 0x85, 0xfd, 0, 0, 0, 0}) {
			t.Errorf("%d bytes: % x", len(b), b[:16])
		}
		if !IsHello(b, false) || !IsHello(b, true) || IsReply(b) {
			t.Errorf("%d bytes: not taken for a hello", size)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add([]byte(Hello), false)
	f.Add([]byte(Reply), true)
	f.Add(PaddedHello(16, time.Hour), true)
	f.Fuzz(func(t *testing.T, b []byte, counters64 bool) {
		IsReply(b)
		if IsHello(b, counters64) && len(b) != 4 && binary.BigEndian.Uint32(b[8:]) != 0 {
			t.Errorf("% x is data, not a hello", b)
		}
	})
}
