package probe_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
)

var formats = []probe.Format{probe.Native, probe.IPerf2, probe.IPerf3, probe.IPerf3Wide}

// unhex reads hex with spaces between groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseFormat(t *testing.T) {
	for _, f := range formats {
		got, err := probe.ParseFormat(f.String())
		if err != nil || got != f {
			t.Errorf("ParseFormat(%q) = %v, %v", f.String(), got, err)
		}
	}
	for _, s := range []string{"", "Probe", "iperf", "iperf22"} {
		if f, err := probe.ParseFormat(s); err == nil {
			t.Errorf("ParseFormat(%q) = %v, want an error", s, f)
		}
	}
}

func TestPutGolden(t *testing.T) {
	const wall = 1796032530445301000 // the time in the first datagram of a stock iperf 2.1.8
	tests := []struct {
		name    string
		stamper probe.Stamper
		size    int
		flow    uint16
		seq     uint64
		mono    int64
		want    string
	}{
		{"native", probe.Stamper{Run: 0x0102}, 18, 0x0304, 0x05060708090a, 0x0b0c0d0e0f10,
			"b6d1 0102 0304 05060708090a 0b0c0d0e0f10"},
		{"native wraps at 48 bits", probe.Stamper{Run: 1}, 20, 2, 3<<48 | 4, 5<<48 | 6,
			"b6d1 0001 0002 000000000004 000000000006 0000"},
		{"iperf2 in 18 bytes", probe.Stamper{Format: probe.IPerf2}, 18, 9, 0, wall,
			"00000001 6b0d4812 0006cb75 00000000 0800"},
		{"iperf2 beyond 32 bits", probe.Stamper{Format: probe.IPerf2, WallOffset: wall - 5000}, 24, 9, 1 << 32, 5000,
			"00000001 6b0d4812 0006cb75 00000001 08000000 00000000"},
		{"iperf3", probe.Stamper{Format: probe.IPerf3}, 12, 9, 0, 2024_689661_000,
			"000007e8 000a85fd 00000001"},
		{"iperf3 with 64 bits", probe.Stamper{Format: probe.IPerf3Wide}, 16, 9, 1<<32 + 3, 2024_689661_999,
			"000007e8 000a85fd 0000000100000004"},
		{"iperf3 wraps at 32 bits", probe.Stamper{Format: probe.IPerf3}, 12, 9, 1<<32 + 3, 2024_689661_999,
			"000007e8 000a85fd 00000004"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := make([]byte, tt.size)
			tt.stamper.Format.Init(b)
			tt.stamper.Put(b, tt.flow, tt.seq, tt.mono)
			if diff := cmp.Diff(unhex(t, tt.want), b); diff != "" {
				t.Errorf("payload (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOffsets(t *testing.T) {
	b := make([]byte, probe.NativeSize)
	s := probe.Stamper{Run: 0x1111}
	s.Put(b, 0x2222, 0x333333333333, 0x444444444444)
	got := map[string]string{
		"magic": hex.EncodeToString(b[probe.MagicOffset:probe.RunOffset]),
		"run":   hex.EncodeToString(b[probe.RunOffset:probe.FlowOffset]),
		"flow":  hex.EncodeToString(b[probe.FlowOffset:probe.SeqOffset]),
		"seq":   hex.EncodeToString(b[probe.SeqOffset:probe.TimeOffset]),
		"time":  hex.EncodeToString(b[probe.TimeOffset:probe.NativeSize]),
	}
	want := map[string]string{
		"magic": fmt.Sprintf("%x", probe.MagicData), "run": "1111", "flow": "2222", "seq": "333333333333", "time": "444444444444",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	const sent = 1796032530445301000
	tests := []struct {
		name   string
		format probe.Format
		in     string
		want   probe.Header
		kind   probe.Kind
	}{
		{"native", probe.Native, "b6d1 0102 0304 05060708090a 0b0c0d0e0f10 ff",
			probe.Header{Run: 0x0102, Flow: 0x0304, Seq: 0x05060708090a, Sent: 0x0b0c0d0e0f10}, probe.Data},
		{"native, all ones", probe.Native, "b6d1 ffff ffff ffffffffffff ffffffffffff",
			probe.Header{Run: 0xffff, Flow: 0xffff, Seq: 1<<48 - 1, Sent: 1<<48 - 1}, probe.Data},
		{"native end", probe.Native, "b6e1 0001 0000 000000000064 000000000002",
			probe.Header{Run: 1, Seq: 100, Sent: 2}, probe.End},
		{"native, next version", probe.Native, "b6d2 0001 0000 000000000064 000000000002", probe.Header{}, probe.Foreign},
		{"native, short", probe.Native, "b6d1 0102 0304 05060708090a 0b0c0d0e0f", probe.Header{}, probe.Foreign},

		// From a stock iperf 2.1.8 conversation.
		{"iperf2 first", probe.IPerf2, "00000001 6b0d4812 0006cb75 00000000 48010098 00000001 00001389",
			probe.Header{Seq: 0, Sent: sent}, probe.Data},
		{"iperf2 FIN after 6", probe.IPerf2, "fffffff9 6b0d4812 00078fe3 ffffffff 48010098 00000001",
			probe.Header{Seq: 6, Sent: 1796032530495587000}, probe.End},
		{"iperf2 AckFIN", probe.IPerf2, "00000000 00000000 00000000 00000000 88000000 00000000 00000578", probe.Header{}, probe.Foreign},
		{"iperf2, 64-bit id", probe.IPerf2, "00000005 6b0d4812 0006cb75 00000001 0800",
			probe.Header{Seq: 1<<32 + 4, Sent: sent}, probe.Data},
		{"iperf2, 64-bit id looks negative in 32", probe.IPerf2, "fffffff9 6b0d4812 0006cb75 00000000 08000000",
			probe.Header{Seq: 1<<32 - 8, Sent: sent}, probe.Data},
		{"iperf2, lowest id", probe.IPerf2, "00000000 6b0d4812 0006cb75 80000000 0800",
			probe.Header{Seq: 1<<63 - 1, Sent: sent}, probe.End},
		{"iperf2, no flags", probe.IPerf2, "00000007 6b0d4812 0006cb75 00000000",
			probe.Header{Seq: 6, Sent: sent}, probe.Data},
		{"iperf2, 32-bit FIN, high half zero", probe.IPerf2, "fffffff9 6b0d4812 0006cb75 00000000 0000",
			probe.Header{Seq: 6, Sent: sent}, probe.End},
		{"iperf2, 32-bit FIN, high half ones", probe.IPerf2, "fffffff9 6b0d4812 0006cb75 ffffffff 00020000",
			probe.Header{Seq: 6, Sent: sent}, probe.End},
		{"iperf2 2.0.10, filler in the high half", probe.IPerf2, "00000007 6b0d4812 0006cb75 32333435 00000000",
			probe.Header{Seq: 6, Sent: sent}, probe.Data},
		{"iperf2 2.0.10 FIN", probe.IPerf2, "80000005 6b0d4812 0006cb75 32333435 00000000",
			probe.Header{Seq: 4, Sent: sent}, probe.End},
		{"iperf2 without client header: digits", probe.IPerf2, "00000007 6b0d4812 0006cb75 00000000 36373839",
			probe.Header{Seq: 6, Sent: sent}, probe.Data},
		{"iperf2, a million microseconds", probe.IPerf2, "00000001 6b0d4812 000f4240 00000000 08000000", probe.Header{}, probe.Foreign},
		{"iperf2, 12 bytes", probe.IPerf2, "00000001 6b0d4812 0006cb75", probe.Header{}, probe.Foreign},

		// From a stock iperf3 3.12 conversation.
		{"iperf3 first", probe.IPerf3, "000007e8 000a85fd 00000001 12fc328a",
			probe.Header{Seq: 0, Sent: 2024_689661_000}, probe.Data},
		{"iperf3 third", probe.IPerf3, "000007e9 00031422 00000003 12fc328a",
			probe.Header{Seq: 2, Sent: 2025_201762_000}, probe.Data},
		{"iperf3, wrapped", probe.IPerf3, "000007e9 00031422 00000000",
			probe.Header{Seq: 1<<32 - 1, Sent: 2025_201762_000}, probe.Data},
		{"iperf3 hello", probe.IPerf3, "39383736", probe.Header{}, probe.Foreign},
		{"iperf3, digits", probe.IPerf3, "30313233 34353637 38393031", probe.Header{}, probe.Foreign},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, kind := tt.format.Parse(unhex(t, tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" || kind != tt.kind {
				t.Errorf("kind %v, want %v; header (-want +got):\n%s", kind, tt.kind, diff)
			}
		})
	}
}

// What Put writes, Parse reads, as far as the format's fields are wide.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := probe.Stamper{
			Format:     rapid.SampledFrom(formats).Draw(t, "format"),
			Run:        rapid.Uint16().Draw(t, "run"),
			WallOffset: rapid.Int64Range(0, 1<<60).Draw(t, "wall"),
		}
		flow := rapid.Uint16().Draw(t, "flow")
		seq := rapid.Uint64Max(1<<63-2).Draw(t, "seq")
		mono := rapid.Int64Range(0, 1<<61).Draw(t, "mono")
		b := bytes.Repeat([]byte{0xa5}, s.Format.Size()+rapid.IntRange(0, 300).Draw(t, "more"))
		s.Format.Init(b)
		s.Put(b, flow, seq, mono)

		micros := (mono + s.WallOffset) / 1000
		var want probe.Header
		switch s.Format {
		case probe.Native:
			want = probe.Header{Run: s.Run, Flow: flow, Seq: seq % (1 << 48), Sent: mono % (1 << 48)}
		case probe.IPerf2:
			want = probe.Header{Seq: seq, Sent: micros % (1e6 << 32) * 1000}
		case probe.IPerf3:
			want = probe.Header{Seq: seq % (1 << 32), Sent: micros % (1e6 << 32) * 1000}
		case probe.IPerf3Wide:
			want = probe.Header{Seq: seq, Sent: micros % (1e6 << 32) * 1000}
		}
		got, kind := s.Format.Parse(b)
		if got != want || kind != probe.Data {
			t.Fatalf("%+v, %v; want %+v", got, kind, want)
		}
		for i := s.Format.Reserved(); i < len(b); i++ {
			if b[i] != 0xa5 {
				t.Fatalf("byte %d, behind the reserved ones, was written", i)
			}
		}
	})
}

func TestInitClearsReserved(t *testing.T) {
	for _, f := range formats {
		for _, size := range []int{f.Size(), f.Size() + 1, 100, 200} {
			b := bytes.Repeat([]byte{0xa5}, size)
			f.Init(b)
			want := make([]byte, min(size, f.Reserved()))
			if f == probe.IPerf2 {
				want[16] = 8
			}
			want = append(want, bytes.Repeat([]byte{0xa5}, size-len(want))...)
			if diff := cmp.Diff(want, b); diff != "" {
				t.Errorf("%v, %d bytes (-want +got):\n%s", f, size, diff)
			}
		}
	}
}

func TestAppendFIN(t *testing.T) {
	const wall = 1796032530495587000
	s := probe.Stamper{Format: probe.IPerf2, WallOffset: wall - 7000}
	tests := []struct {
		sent uint64
		try  int
		size int
		want string
	}{
		{6, 0, 18, "fffffff9 6b0d4812 00078fe3 ffffffff 0800"},
		{6, 1, 20, "fffffff8 6b0d4812 00078fe3 ffffffff 08000000"},
		{1 << 32, 0, 18, "ffffffff 6b0d4812 00078fe3 fffffffe 0800"},
	}
	for _, tt := range tests {
		got := s.AppendFIN([]byte{1, 2}, tt.size, tt.sent, tt.try, 7000)
		if diff := cmp.Diff(append([]byte{1, 2}, unhex(t, tt.want)...), got); diff != "" {
			t.Errorf("after %d, try %d (-want +got):\n%s", tt.sent, tt.try, diff)
		}
		h, kind := s.Format.Parse(got[2:])
		if kind != probe.End || h.Seq != tt.sent+uint64(tt.try) || h.Sent != wall {
			t.Errorf("after %d, try %d: parsed as %+v, %v", tt.sent, tt.try, h, kind)
		}
	}
}

func TestAllocs(t *testing.T) {
	for _, f := range formats {
		s := probe.Stamper{Format: f, Run: 1}
		b := make([]byte, 200)
		f.Init(b)
		var seq uint64
		allocs := testing.AllocsPerRun(100, func() {
			s.Put(b, 1, seq, int64(seq))
			if h, kind := f.Parse(b); kind != probe.Data || h.Seq != seq {
				t.Fatalf("%v: %+v, %v", f, h, kind)
			}
			seq++
		})
		if allocs != 0 {
			t.Errorf("%v: %v allocations for Put and Parse, want none", f, allocs)
		}
	}
}

func FuzzParse(f *testing.F) {
	for i, format := range formats {
		b := make([]byte, 20)
		s := probe.Stamper{Format: format, Run: 7}
		format.Init(b)
		s.Put(b, 3, 1<<40, 1<<45)
		f.Add(uint8(i), b)
		f.Add(uint8(i), b[:format.Size()-1])
	}
	f.Add(uint8(probe.Native), probe.AppendEnd(nil, &probe.EndMarker{Run: 7, Mono: 5}))
	f.Add(uint8(probe.IPerf2), []byte("\xff\xff\xff\xf9k\rH\x12\x00\x06\xcbu\x00\x00\x00\x00"))
	f.Add(uint8(probe.IPerf2), []byte("\x80\x00\x00\x05k\rH\x12\x00\x06\xcbu23456789"))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		format := formats[int(which)%len(formats)]
		h, kind := format.Parse(b)
		if kind == probe.Foreign {
			if h != (probe.Header{}) {
				t.Fatalf("foreign, but %+v", h)
			}
			return
		}
		s := probe.Stamper{Format: format, Run: h.Run}
		again := make([]byte, format.Size())
		format.Init(again)
		switch {
		case kind == probe.Data:
			s.Put(again, h.Flow, h.Seq, h.Sent)
		case format == probe.IPerf2:
			again = s.AppendFIN(nil, format.Size(), h.Seq, 0, h.Sent)
		default: // a native end has a codec of its own
			return
		}
		if h2, kind2 := format.Parse(again); h2 != h || kind2 != kind {
			t.Fatalf("parsed %+v, %v; wrote and parsed it again: %+v, %v", h, kind, h2, kind2)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			b.ReportAllocs()
			s := probe.Stamper{Format: f, Run: 1}
			buf := make([]byte, 200)
			var seq uint64
			for b.Loop() {
				s.Put(buf, 1, seq, 1e15)
				seq++
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			b.ReportAllocs()
			s := probe.Stamper{Format: f, Run: 1}
			buf := make([]byte, 200)
			f.Init(buf)
			s.Put(buf, 1, 2, 1e15)
			for b.Loop() {
				if _, kind := f.Parse(buf); kind != probe.Data {
					b.Fatal(kind)
				}
			}
		})
	}
}
