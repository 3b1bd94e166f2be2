package checksum

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// definition adds 16-bit words one by one, with the carry around the end.
func definition(b []byte) uint16 {
	sum := uint32(0)
	for i, v := range b {
		word := uint32(v)
		if i%2 == 0 {
			word <<= 8
		}
		if sum += word; sum > 0xffff {
			sum -= 0xffff
		}
	}
	return uint16(sum)
}

func TestAddIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xfe, 0xff}), 0, 200).Draw(t, "bytes")
		cut := rapid.IntRange(0, len(b)/2).Draw(t, "cut") * 2
		if got, want := Fold(Add(Add(0, b[:cut]), b[cut:])), definition(b); got != want {
			t.Fatalf("%x, cut at %d: %#x, want %#x", b, cut, got, want)
		}
	})
}

func TestFoldOfTheLargestSum(t *testing.T) {
	if got := Fold(math.MaxUint64); got != 0xffff {
		t.Errorf("%#x", got)
	}
}

// TestRFC1071Example is that of its section 3.
func TestRFC1071Example(t *testing.T) {
	if got := Fold(Add(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})); got != 0xddf2 {
		t.Errorf("%#x, want 0xddf2", got)
	}
}

func TestUDPHasAlwaysAChecksum(t *testing.T) {
	if got := OfUDP(0xffff); got != 0xffff {
		t.Errorf("%#x", got)
	}
	if got := OfUDP(0xddf2); got != 0x220d {
		t.Errorf("%#x, want 0x220d", got)
	}
}
