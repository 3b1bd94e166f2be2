package probe

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func testProbe(size int) []byte {
	b := make([]byte, size)
	s := Stamper{Format: Native, Run: 0x1234}
	s.Put(b, 7, 0x0102030405, 0x0a0b0c0d0e0f)
	return b
}

func TestReflectionOnTheWire(t *testing.T) {
	const arrived, leaves = 0x7fff_0001_0203_0405, 0x7fff_0001_0203_0506
	for size, want := range map[int]string{
		18:   "b6f112340007000102030405" + "0a0b0c0d0e0f",
		29:   "b6f112340007000102030405" + "0a0b0c0d0e0f",
		30:   "b6f112340007000102030405" + "0a0b0c0d0e0f" + "000102030405" + "000102030506",
		1472: "b6f112340007000102030405" + "0a0b0c0d0e0f" + "000102030405" + "000102030506",
	} {
		b := testProbe(size)
		got := Reflect(b, arrived, leaves)
		if hex.EncodeToString(got) != want || len(got) > size {
			t.Errorf("%d bytes: %x, want %s", size, got, want)
		}
		r, ok := ParseReflection(got)
		turnaround := int64(0x101)
		if size < ReflectionSize {
			turnaround = 0
		}
		if !ok || r != (Reflection{Header{Run: 0x1234, Flow: 7, Seq: 0x0102030405, Sent: 0x0a0b0c0d0e0f}, turnaround}) {
			t.Errorf("%d bytes: %+v, %v", size, r, ok)
		}
	}
}

// The clock's 48 bits run over once in 78 hours.
func TestTimesRunOver(t *testing.T) {
	const top = 1 << NativeBits
	b := testProbe(ReflectionSize)
	r, ok := ParseReflection(Reflect(b, top-5, top+10))
	if !ok || r.Turnaround != 15 {
		t.Errorf("turnaround %d, want 15", r.Turnaround)
	}
	if e := Elapsed((top-7)&nativeMask, top+3); e != 10 {
		t.Errorf("elapsed %d, want 10", e)
	}
}

func TestOnlyProbesAreReflected(t *testing.T) {
	end := AppendEnd(nil, &EndMarker{Counts: []FlowCount{{1, 5}}})
	for name, b := range map[string][]byte{
		"nothing": nil, "short": testProbe(18)[:17], "end marker": end, "garbage": bytes.Repeat([]byte{0xb6}, 100),
		"iperf3": make([]byte, 64), "reflection": Reflect(testProbe(64), 1, 2),
	} {
		if r := Reflect(b, 3, 4); r != nil {
			t.Errorf("%s: reflected %x", name, r)
		}
	}
}

func FuzzReflection(f *testing.F) {
	f.Add(testProbe(18))
	f.Add(testProbe(64))
	f.Add(Reflect(testProbe(64), 5, 9))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := ParseReflection(b); ok && (r.Turnaround < 0 || r.Seq > nativeMask) {
			t.Errorf("%x: %+v", b, r)
		}
		h, kind := Native.Parse(b)
		got := Reflect(bytes.Clone(b), 1, 3)
		if (got != nil) != (kind == Data) || len(got) > len(b) {
			t.Fatalf("%x: reflected %x", b, got)
		}
		if got == nil {
			return
		}
		if r, ok := ParseReflection(got); !ok || r.Header != h {
			t.Errorf("%x: %+v, want %+v", got, r.Header, h)
		}
	})
}
