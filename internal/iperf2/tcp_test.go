package iperf2_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf2"
)

// parseStream reads the header of a stream as a server does.
func parseStream(b []byte) (iperf2.Settings, int, error) {
	n, err := iperf2.HeaderLength([4]byte(b))
	if err != nil || n > len(b) {
		return iperf2.Settings{}, n, err
	}
	return iperf2.ParseTCP(b[:n]), n, nil
}

func TestTCPHeaders(t *testing.T) {
	plain := iperf2.Settings{Flows: 2, Port: 5001, Size: 1000, Duration: 2 * time.Second, Rate: 5_000_000, Release: "2.1.8"}
	with := func(change func(*iperf2.Settings)) iperf2.Settings {
		s := plain
		change(&s)
		return s
	}
	for _, c := range []struct {
		flags, upper string
		length       int
		settings     iperf2.Settings
	}{
		{"40010078", "0000", 60, plain},
		{"44010078", "0400", 60, with(func(s *iperf2.Settings) { s.Mode = iperf2.Reverse })},
		{"44010078", "0800", 60, with(func(s *iperf2.Settings) { s.Mode = iperf2.FullDuplex })},
		{"46010078", "0000", 60, with(func(s *iperf2.Settings) { s.PeerDetect = true })},
		{"c0010079", "0000", 60, with(func(s *iperf2.Settings) { s.Mode = iperf2.Dual })},
		{"c0010078", "0000", 60, with(func(s *iperf2.Settings) { s.Mode = iperf2.Tradeoff })},
		{"400100a0", "0010", 80, with(func(s *iperf2.Settings) { s.Start = 1_796_032_530 * time.Second })},
	} {
		b := c.settings.AppendTCP(nil)
		if !bytes.HasPrefix(b, unhex(t, c.flags)) || !bytes.Equal(b[32:34], unhex(t, c.upper)) || len(b) != c.length {
			t.Errorf("%+v is written in %d bytes with flags %x and %x, want %d, %s and %s",
				c.settings, len(b), b[:4], b[32:34], c.length, c.flags, c.upper)
		}
		got, n, err := parseStream(b)
		if err != nil || n != c.length || got != c.settings {
			t.Errorf("%s: %+v in %d bytes, %v, want %+v in %d", c.flags, got, n, err, c.settings, c.length)
		}
	}
}

func TestHeaderLength(t *testing.T) {
	for _, c := range []struct {
		first string
		want  int
		err   string
	}{
		{"\x00\x00\x00\x00", 0, ""},
		{"0123", 0, ""},
		{"\x80\x00\x00\x00", 24, ""},
		{"\x80\x00\x00\x01", 24, ""},
		{"\x00\x80\x00\x00", 64, ""},
		{"\xff\xff\xff\xff", 0, "permit key"},
		{"GET ", 0, "no header of iperf 2"},
		{"SSH-", 0, "permit key"},
		{"\x40\x01\x00\x10", 0, "a header of 8 bytes"},
		{"\x40\x00\x00\x78", 0, "no header of iperf 2"},
	} {
		got, err := iperf2.HeaderLength([4]byte([]byte(c.first)))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %d, %v, want %d, %q", c.first, got, err, c.want, c.err)
		}
	}
}

func TestAck(t *testing.T) {
	b := iperf2.AppendAck(nil)
	if want := unhex(t, "00000002 0000001c 00000000 00020001 00080003 00000000 00000000"); !bytes.Equal(b, want) {
		t.Errorf("the ack is %x, want %x", b, want)
	}
	if n, err := iperf2.AckLength([8]byte(b)); n != 28 || err != nil {
		t.Errorf("its length: %d, %v", n, err)
	}
	if got := iperf2.ParseAck(b); got != "2.1.8" {
		t.Errorf("the release in it: %q", got)
	}
	for _, s := range []string{"00000001 0000001c", "00000002 0000001b", "00000002 7fffffff"} {
		if n, err := iperf2.AckLength([8]byte(unhex(t, s))); err == nil {
			t.Errorf("%s: an ack of %d bytes", s, n)
		}
	}
}

// aRequest is one of 100 bytes that the server shall keep for 5 µs, as the stock
// client makes them: its size, burst and time of sending, then the server's times,
// which it marks as unknown.
const aRequest = "00800000 00000064 00000003 00000000 00000000 6b0d4812 00000007" +
	"ffffffff ffffffff 00000000 00000000 00000005"

func TestBounceBack(t *testing.T) {
	b := append(unhex(t, aRequest), bytes.Repeat([]byte{0x5a}, 100-48)...)
	want := bytes.Clone(b)
	copy(want[28:], unhex(t, "6b0d4813 000003e8 6b0d4813 000007d0"))
	const second = 0x6b0d4813 * time.Second
	iperf2.Answer(b, second+time.Millisecond, second+2*time.Millisecond)
	if !bytes.Equal(b, want) {
		t.Errorf("the answer is\n%x, want\n%x", b, want)
	}
	if got, err := iperf2.ParseBounceBack(b); err != nil || got != (iperf2.BounceBack{Size: 100, Hold: 5 * time.Microsecond}) {
		t.Errorf("%+v, %v", got, err)
	}
	if s, n, err := parseStream(b); err != nil || n != iperf2.BounceBackSize || !s.BounceBack {
		t.Errorf("as the head of a stream: %+v in %d bytes, %v", s, n, err)
	}
	b[7] = 63
	if _, err := iperf2.ParseBounceBack(b); err == nil {
		t.Error("a request of 63 bytes is taken")
	}
}

func FuzzTCP(f *testing.F) {
	s := iperf2.Settings{Mode: iperf2.Dual, Flows: 1, Start: time.Second}
	f.Add(s.AppendTCP(nil))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Add(iperf2.AppendAck(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8 {
			return
		}
		s, n, err := parseStream(b)
		if n < 0 || n > iperf2.MaxHeader || err != nil && n != 0 {
			t.Fatalf("a header of %d bytes, %v", n, err)
		}
		if s.Rate >= 1<<56 || s.Bytes >= 1<<31 || s.Duration < 0 || s.Port > 65535 || s.Start < 0 {
			t.Fatalf("out of range: %+v", s)
		}
		if n, err := iperf2.AckLength([8]byte(b)); err == nil && n > iperf2.MaxHeader {
			t.Fatalf("an ack of %d bytes", n)
		}
		iperf2.ParseAck(b)
	})
}

func FuzzBounceBack(f *testing.F) {
	f.Add(append(unhex(f, aRequest), make([]byte, 100-48)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := iperf2.ParseBounceBack(b)
		if err == nil && (r.Size < iperf2.BounceBackSize || r.Size > 1<<20 || r.Hold < 0) {
			t.Fatalf("out of range: %+v", r)
		}
	})
}
