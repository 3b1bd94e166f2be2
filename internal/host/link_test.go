package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingInterface(t *testing.T) {
	_, byName := LinkByName("nosuch0")
	_, byIndex := LinkByIndex(1 << 20)
	for _, err := range []error{byName, byIndex} {
		if !errors.Is(err, ErrNoInterface) {
			t.Errorf("%v is not ErrNoInterface", err)
		}
	}
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 || !strings.Contains(byName.Error(), names[0]) {
		t.Errorf("%v proposes none of %v", byName, names)
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		name, candidates, want string
	}{
		{"eth9", "lo eth0 wlan0", "eth0, lo, wlan0"},
		{"enp3s1", "lo eth0 enp1s0 enp3s0", "enp3s0, enp1s0, eth0, lo"},
		{"v9", "lo v1 v2 v3 v4 v5 v6 v7 v8 eth0", "v1, v2, v3, v4, v5, v6, v7, v8 and 2 more"},
		{"", "lo", "lo"},
	} {
		got := nearest(tt.name, strings.Fields(tt.candidates))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("nearest to %q (-want +got):\n%s", tt.name, diff)
		}
	}
}
