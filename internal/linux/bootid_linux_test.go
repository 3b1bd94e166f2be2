package linux

import (
	"fmt"
	"testing"
)

func FuzzParseBootID(f *testing.F) {
	f.Add([]byte("0f4b3e5c-9a1d-4c7e-8b2f-001122334455\n"))
	f.Add([]byte("0f4b3e5c-9a1d-4c7e-8b2f-001122334455"))
	f.Add([]byte("0F4B3E5C-9A1D-4C7E-8B2F-00112233445G\n"))
	f.Add([]byte("0f4b3e5c09a1d04c7e08b2f0001122334455"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		id, ok := parseBootID(text)
		if !ok {
			if id != [16]byte{} {
				t.Errorf("%q: no id, but %x", text, id)
			}
			return
		}
		printed := fmt.Sprintf("%x-%x-%x-%x-%x\n", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
		if again, ok := parseBootID([]byte(printed)); !ok || again != id {
			t.Errorf("%q: %x, which prints as %q and reads as %x, %v", text, id, printed, again, ok)
		}
	})
}

func TestParseBootID(t *testing.T) {
	want := [16]byte{0x0f, 0x4b, 0x3e, 0x5c, 0x9a, 0x1d, 0x4c, 0x7e, 0x8b, 0x2f, 0, 0x11, 0x22, 0x33, 0x44, 0x55}
	for _, tt := range []struct {
		text string
		want [16]byte
		ok   bool
	}{
		{"0f4b3e5c-9a1d-4c7e-8b2f-001122334455\n", want, true},
		{"0f4b3e5c-9a1d-4c7e-8b2f-001122334455", want, true},
		{"0f4b3e5c-9a1d-4c7e-8b2f-00112233445", [16]byte{}, false},
		{"0f4b3e5c-9a1d-4c7e-8b2f-00112233445x", [16]byte{}, false},
		{"0f4b3e5c_9a1d-4c7e-8b2f-001122334455", [16]byte{}, false},
		{"", [16]byte{}, false},
	} {
		if got, ok := parseBootID([]byte(tt.text)); got != tt.want || ok != tt.ok {
			t.Errorf("parseBootID(%q) = %x, %v, want %x, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestBootID(t *testing.T) {
	id, ok := BootID()
	if again, okAgain := BootID(); !ok || !okAgain || id != again || id == [16]byte{} {
		t.Errorf("BootID = %x, %v, then %x, %v", id, ok, again, okAgain)
	}
}
