package host

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/linux"
	"linerate/internal/result"
)

// says fails unless exactly one of the findings has the text, at the level.
func says(t *testing.T, name string, findings []result.Finding, level, text string) {
	t.Helper()
	n := 0
	for _, f := range findings {
		if strings.Contains(f.What, text) {
			n++
			if f.Level != level || f.Level == "warn" && f.Mend == "" {
				t.Errorf("%s: %+v, want level %s, and a command if that is warn", name, f, level)
			}
		}
	}
	if n != 1 {
		t.Errorf("%s: %d findings say %q: %+v", name, n, text, findings)
	}
}

func TestMachineFindings(t *testing.T) {
	for _, tt := range []struct {
		name        string
		m           machine
		level, text string
	}{
		{"capabilities", machine{missing: []string{"CAP_BPF", "CAP_PERFMON"}}, "warn", "CAP_BPF CAP_PERFMON"},
		{"a kernel that is sound", machine{release: "6.18.44-x"}, "ok", "Linux 6.18.44-x"},
		{"a kernel that refuses short tails", machine{release: "6.6.44"}, "warn", "short last packet"},
		{"a kernel that mangles trains", machine{release: "7.0.0-rc3"}, "warn", "damage trains"},
		{"a governor", machine{governor: map[string]int{"powersave": 8}}, "warn", "8 cores is powersave"},
		{"a quota", machine{quota: &quota{cores: 0.5}}, "warn", "0.50 cores"},
		{"a clock that is right", machine{clock: &linux.ClockState{Synchronised: true, MaxError: time.Millisecond}}, "ok", "within 1ms"},
		{"a clock on its own", machine{clock: &linux.ClockState{}}, "ok", "not synchronised"},
	} {
		says(t, tt.name, tt.m.check(), tt.level, tt.text)
	}
	sound := machine{governor: map[string]int{"performance": 4}}
	if f := sound.check(); len(f) != 0 {
		t.Errorf("of a sound machine: %+v", f)
	}
}

func TestDeliveryFindings(t *testing.T) {
	for _, tt := range []struct {
		name        string
		d           delivery
		level, text string
	}{
		{"all interrupts at one core", delivery{cores: 4, queues: 4, interrupts: 4, served: 1}, "warn", "one core serves all"},
		{"interrupts spread", delivery{cores: 4, queues: 4, interrupts: 4, served: 4}, "ok", "receive queues: 4"},
		{"one queue", delivery{cores: 4, queues: 1}, "ok", "one receive queue"},
		{"one queue, steered", delivery{cores: 4, queues: 1, steered: true}, "ok", "receive queues: 1"},
		{"coalescing", delivery{coalesced: 250}, "ok", "250 µs"},
	} {
		says(t, tt.name, tt.d.check("eth0"), tt.level, tt.text)
	}
}

func TestCoreLists(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-1,8": 3, "2-1": -1, "x": -1, "": -1} {
		if n, known := countCores(list); known != (want >= 0) || known && n != want {
			t.Errorf("%q: %d, %v", list, n, known)
		}
	}
	for mask, want := range map[string]bool{"0": false, "00000000,00000003": true, "": false, "zz": false} {
		if got := anyCore(mask); got != want {
			t.Errorf("%q: %v", mask, got)
		}
	}
}

func FuzzReleasesAndLists(f *testing.F) {
	f.Add("6.18.44-generic")
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, s string) {
		if v, known := parseRelease(s); known && v[0] < 0 {
			t.Errorf("%q: version %v", s, v)
		}
		if n, known := countCores(s); known && n < 1 {
			t.Errorf("%q: %d cores", s, n)
		}
	})
}

func TestLinkFindings(t *testing.T) {
	l := Link{Name: "eth0", Up: true, Carrier: true, MTU: 9000, SpeedBps: 1e9, HalfDuplex: true, Peers: []Peer{{"br0", 1500}, {"eth1", 9000}}}
	says(t, "peers", l.check(), "warn", "br0, which its frames go through, 1500")
	says(t, "duplex", l.check(), "warn", "half duplex")
	says(t, "rate", l.check(), "ok", "1488095 packets/s in 64-byte frames and 81274 in 1518-byte ones (957.1 Mbit/s")
}
