package units

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseIMIX(t *testing.T) {
	simple := []int{64, 64, 64, 64, 64, 64, 64, 594, 594, 594, 594, 1518}
	for in, want := range map[string][]int{
		"simple":            simple,
		"64:7,594:4,1518:1": simple,
		"7x64,4x594,1x1518": simple,
		"7x64,594:4,1518":   simple,
		"1518,64":           {1518, 64},
		"aaafg":             {64, 64, 64, 1280, 1518},
		"IMIX - bcdehij":    {128, 256, 512, 1024, 2112, 9000, 16000},
	} {
		got, err := ParseIMIX(in)
		if err != nil {
			t.Errorf("ParseIMIX(%q): %v", in, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseIMIX(%q) (-want +got):\n%s", in, diff)
		}
	}
	for in, want := range map[string]string{
		"": "1 to 4096 frames", "-": "not a mix", "64,": "not a mix", "64:": "not a mix", "aaz": "not a mix", "aA": "not a mix",
		"64:-1": "not a mix", "64 ,128": "not a mix", "64:1:1": "not a mix", "1e3": "not a mix", "hello": "not a mix",
		"63": "64 to 65553 bytes", "65554": "64 to 65553 bytes", "64x7": "not 7",
		"64:0": "1 to 4096", "64:4097": "1 to 4096", "64:4096,65": "1 to 4096", strings.Repeat("a", 4097): "1 to 4096",
	} {
		got, err := ParseIMIX(in)
		checkRefused(t, in, got, err, want)
	}
}

func FuzzParseIMIX(f *testing.F) {
	for _, seed := range []string{"simple", "64:7,594:4,1518:1", "7x64,4x594", "aaafg", "IMIX - aaafg", "64:4097", "z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cycle, err := ParseIMIX(s)
		if err != nil {
			return
		}
		if len(cycle) == 0 || len(cycle) > maxCycle {
			t.Fatalf("ParseIMIX(%q) has %d frames", s, len(cycle))
		}
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(cycle), "[]"), " ", ",")
		again, err := ParseIMIX(list)
		if diff := cmp.Diff(cycle, again); err != nil || diff != "" {
			t.Errorf("ParseIMIX(%q) does not parse to itself from %q: %v\n%s", s, list, err, diff)
		}
	})
}
