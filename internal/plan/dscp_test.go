package plan

import (
	"strconv"
	"testing"
)

// BC-146: names and numbers agree.
func TestParseDSCP(t *testing.T) {
	for in, want := range map[string]uint8{
		"0": 0, "46": 46, "63": 63, "08": 8, "0x2e": 46, "0X2E": 46,
		"EF": 46, "ef": 46, "VA": 44, "LE": 1, "DF": 0, "BE": 0,
		"CS0": 0, "CS5": 40, "cs7": 56,
		"AF11": 10, "AF23": 22, "AF41": 34, "af43": 38,
	} {
		got, err := ParseDSCP(in)
		if err != nil || got != want<<2 {
			t.Errorf("ParseDSCP(%q) = %d, %v; want %d", in, got, err, want<<2)
		}
	}
	for _, in := range []string{"", "64", "256", "-1", "+1", "0x40", "0x", "1e1", "4_6", "0b11", "CS8", "CS", "CS10", "AF10", "AF14", "AF51", "AF411", "EFX", " EF", "4６"} {
		if got, err := ParseDSCP(in); err == nil {
			t.Errorf("ParseDSCP(%q) = %d, want an error", in, got)
		}
	}
}

func FuzzParseDSCP(f *testing.F) {
	for _, seed := range []string{"EF", "AF41", "cs5", "46", "0x2e", "64", "", "AF00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tos, err := ParseDSCP(s)
		if err != nil {
			return
		}
		if tos&3 != 0 {
			t.Fatalf("%q: ECN bits are set in %#x", s, tos)
		}
		if again, err := ParseDSCP(strconv.Itoa(int(tos >> 2))); err != nil || again != tos {
			t.Fatalf("%q is %#x, and its number %#x, %v", s, tos, again, err)
		}
	})
}
