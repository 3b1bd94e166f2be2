package probe_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
)

func TestCompressCounts(t *testing.T) {
	tests := []struct {
		name string
		sent []uint64
		want []probe.FlowCount
	}{
		{"none", nil, nil},
		{"one", []uint64{5}, []probe.FlowCount{{1, 5}}},
		{"round robin", []uint64{3, 3, 2, 2, 2}, []probe.FlowCount{{2, 3}, {3, 2}}},
		{"most flows", make([]uint64, 65536), []probe.FlowCount{{65536, 0}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, probe.CompressCounts(tt.sent)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEndGolden(t *testing.T) {
	e := &probe.EndMarker{
		Run:    0x0102,
		Counts: []probe.FlowCount{{2, 300}, {200, 299}},
		Rest:   5,
		BootID: [16]byte{0xb0, 15: 0x1d},
		Mono:   0x0102030405060708,
		TAI:    0x1112131415161718,
		Wall:   0x2122232425262728,
		Clock:  probe.ClockNTP,

		ErrorBound: 0x3132333435363738,
	}
	want := unhex(t, "b6e1 0102 0000 00000000ebf5 030405060708"+ // 2·300 + 200·299 + 5 = 60405
		"b000000000000000000000000000001d"+
		"0102030405060708 1112131415161718 0000000000000005"+
		"02 2122232425262728 3132333435363738 0002"+
		"01 d804"+ // 2 flows, +300
		"c701 01") // 200 flows, -1
	got := probe.AppendEnd(nil, e)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marker (-want +got):\n%s", diff)
	}
	h, kind := probe.Native.Parse(got)
	if want := (probe.Header{Run: 0x0102, Seq: 60405, Sent: 0x030405060708}); h != want || kind != probe.End {
		t.Errorf("header %+v, %v; want %+v", h, kind, want)
	}
	back, err := probe.ParseEnd(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, back); diff != "" {
		t.Errorf("parsed (-want +got):\n%s", diff)
	}
}

func TestEndSent(t *testing.T) {
	e := &probe.EndMarker{Counts: []probe.FlowCount{{2, 7}, {1, 0}, {65533, 4}}}
	for flow, want := range map[uint16]uint64{0: 7, 1: 7, 2: 0, 3: 4, 65535: 4} {
		if got, ok := e.Sent(flow); got != want || !ok {
			t.Errorf("flow %d: %d, %v; want %d", flow, got, ok, want)
		}
	}
	e.Counts = e.Counts[:2]
	if got, ok := e.Sent(3); got != 0 || ok {
		t.Errorf("flow 3: %d, %v; want unknown", got, ok)
	}
}

// Counts that no run length can compress still fit when there are few, and
// leave the total exact when there are many.
func TestEndSize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		flows int
		whole bool
	}{{1, true}, {64, true}, {100, true}, {1000, false}, {65536, false}} {
		sent := make([]uint64, tt.flows)
		var total uint64
		for i := range sent {
			sent[i] = 1e9 + r.Uint64N(1e6)
			total += sent[i]
		}
		b := probe.AppendEnd([]byte("before"), &probe.EndMarker{Counts: probe.CompressCounts(sent)})[len("before"):]
		if len(b) > probe.MaxEndSize {
			t.Errorf("%d flows take %d bytes, more than %d", tt.flows, len(b), probe.MaxEndSize)
		}
		e, err := probe.ParseEnd(b)
		if err != nil {
			t.Fatal(err)
		}
		if e.Total() != total {
			t.Errorf("%d flows: total %d, want %d", tt.flows, e.Total(), total)
		}
		if whole := e.Rest == 0; whole != tt.whole {
			t.Errorf("%d flows: whole %v, want %v", tt.flows, whole, tt.whole)
		}
		for flow, want := range sent {
			if got, ok := e.Sent(uint16(flow)); ok && got != want || !ok && tt.whole {
				t.Fatalf("flow %d: %d, %v; want %d", flow, got, ok, want)
			}
		}
	}
}

func TestEndRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &probe.EndMarker{
			Run:    rapid.Uint16().Draw(t, "run"),
			Counts: probe.CompressCounts(rapid.SliceOfN(rapid.Uint64Max(1<<54), 0, 40).Draw(t, "sent")),
			Rest:   rapid.Uint64Max(1<<54).Draw(t, "rest"),
			BootID: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "boot")),
			Mono:   rapid.Int64Range(0, math.MaxInt64).Draw(t, "mono"),
			TAI:    rapid.Int64Range(0, math.MaxInt64).Draw(t, "tai"),
			Wall:   rapid.Int64Range(0, math.MaxInt64).Draw(t, "wall"),
			Clock:  probe.ClockState(rapid.Uint8Max(uint8(probe.ClockPTP)).Draw(t, "clock")),

			ErrorBound: rapid.Int64Range(0, math.MaxInt64).Draw(t, "error"),
		}
		got, err := probe.ParseEnd(probe.AppendEnd(nil, e))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestParseEndErrors(t *testing.T) {
	const none = "0000000000000000"
	head := func(seq, rest, clock, runs string) string {
		return "b6e1 0001 0000 " + seq + " 000000000009" + "00000000000000000000000000000000" +
			"0000000000000009 0000000000000000" + rest + clock + none + none + runs
	}
	tests := []struct{ name, in, want string }{
		{"data", "b6d1 0001 0000 000000000000 000000000000", "18 bytes are no end marker"},
		{"header alone", "b6e1 0001 0000 000000000000 000000000000", "18 bytes are no end marker"},
		{"nothing", "", "0 bytes are no end marker"},
		{"runs missing", head("000000000000", none, "00", "0001"), "end marker: 1 runs of flow counts in 0 bytes"},
		{"runs cut", head("000000000000", none, "00", "0001") + "0080", "end marker: broken packet count"},
		{"flows cut", head("000000000000", none, "00", "0001") + "8080", "end marker: broken number of flows"},
		{"too many flows at once", head("000000000000", none, "00", "0001") + "808004 00", "end marker: broken number of flows"},
		{"too many flows", head("000000000000", none, "00", "0002") + "ffff03 00 00 00", "end marker: 65537 flows, the most is 65536"},
		{"bytes left", head("000000000002", none, "00", "0001") + "0004ff", "end marker: 1 bytes too many"},
		{"other total", head("000000000003", none, "00", "0001") + "0004", "end marker: header and body differ"},
		{"run overflows", head("000000000000", none, "00", "0001") + "01 ffffffffffffffffff01", "end marker: the packet counts overflow"},
		{"sum overflows", head("000000000000", "ffffffffffffffff", "00", "0001") + "0002", "end marker: the packet counts overflow"},
		{"clock", head("000000000000", none, "04", "0000"), "end marker: unknown clock state 4"},
		{"negative time", "b6e1 0001 0000 000000000000 000000000009" + "00000000000000000000000000000000" +
			"8000000000000009 0000000000000000" + none + "00" + none + none + "0000", "end marker: negative time"},
		{"too long", head("000000000000", none, "00", "0000") + strings.Repeat("0", 848), "501 bytes are no end marker"},
	}
	for _, tt := range tests {
		e, err := probe.ParseEnd(unhex(t, tt.in))
		if err == nil {
			t.Errorf("%s: took it: %+v", tt.name, e)
		} else if err.Error() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, err, tt.want)
		}
	}
}

func FuzzParseEnd(f *testing.F) {
	f.Add(probe.AppendEnd(nil, &probe.EndMarker{}))
	f.Add(probe.AppendEnd(nil, &probe.EndMarker{Run: 1, Counts: []probe.FlowCount{{3, 10}, {61, 9}}, Mono: 5, TAI: 6, Clock: probe.ClockPTP}))
	f.Add(probe.AppendEnd(nil, &probe.EndMarker{Counts: []probe.FlowCount{{1, 1 << 60}, {65535, 3}}, Rest: 8}))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := probe.ParseEnd(b)
		if err != nil {
			return
		}
		if _, kind := probe.Native.Parse(b); kind != probe.End {
			t.Fatalf("an end marker, but Parse says %v", kind)
		}
		out := probe.AppendEnd(nil, e)
		again, err := probe.ParseEnd(out)
		if err != nil {
			t.Fatalf("what AppendEnd made of %+v: %v", e, err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("no fixed point (-first +second):\n%s", diff)
		}
	})
}

func BenchmarkParseEnd(b *testing.B) {
	b.ReportAllocs()
	marker := probe.AppendEnd(nil, &probe.EndMarker{Counts: []probe.FlowCount{{3, 10}, {61, 9}}})
	for b.Loop() {
		if _, err := probe.ParseEnd(marker); err != nil {
			b.Fatal(err)
		}
	}
}
