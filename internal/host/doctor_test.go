package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

func TestDoctorOfNoSuchInterface(t *testing.T) {
	if _, err := Doctor("nosuch0", nil, nil); !errors.Is(err, ErrNoInterface) {
		t.Errorf("got %v, want ErrNoInterface", err)
	}
}

func TestDoctorOfTheMachineSpeaksOfNoInterface(t *testing.T) {
	findings, err := Doctor("", []PathState{{Name: "udp"}}, []PathState{{Name: "udp"}, {Name: "gro"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []result.Finding{{Level: "ok", What: "paths: udp"}, {Level: "ok", What: "rx paths: udp gro"}}
	if diff := cmp.Diff(want, findings[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, f := range findings {
		if strings.Contains(f.What, "eth0") {
			t.Errorf("a finding of an interface: %v", f)
		}
	}
}

func TestCoreMask(t *testing.T) {
	for n, want := range map[int]string{1: "1", 4: "f", 32: "ffffffff", 33: "1,ffffffff", 64: "ffffffff,ffffffff", 130: "3,ffffffff,ffffffff,ffffffff,ffffffff"} {
		if got := coreMask(n); got != want || !anyCore(got) {
			t.Errorf("%d cores: %s, want %s", n, got, want)
		}
	}
}

func TestCheckPaths(t *testing.T) {
	got := checkPaths("paths", []PathState{
		{Name: "udp"},
		{Name: "packet", Err: fmt.Errorf("path packet: socket: %w", fs.ErrPermission)},
		{Name: "afxdp", Err: errors.New("path afxdp: the kernel lacks AF_XDP")},
		{Name: "gso"},
	})
	want := []result.Finding{
		{Level: "ok", What: "paths: udp gso"},
		{Level: "warn", What: "path packet: socket: permission denied", Mend: setcap},
		{Level: "ok", What: "path afxdp: the kernel lacks AF_XDP"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckLink(t *testing.T) {
	nic := Link{Name: "eth0", MTU: 9000, MaxMTU: 9216, Ethernet: true, Up: true, Carrier: true, SpeedBps: 10e9}
	for _, tt := range []struct {
		name   string
		change func(*Link)
		want   []result.Finding
	}{
		{"nothing to mend", func(*Link) {}, []result.Finding{
			{Level: "ok", What: "eth0 is up at 10000 Mbit/s"},
			{Level: "ok", What: "eth0 carries at most 14880952 packets/s in 64-byte frames and 812744 in 1518-byte ones (9570.9 Mbit/s of UDP payload)"},
			{Level: "ok", What: "eth0 MTU 9000 of 9216"},
		}},
		{"down", func(l *Link) { l.Up, l.Carrier = false, false }, []result.Finding{
			{Level: "warn", What: "eth0 is down", Mend: "ip link set dev eth0 up"},
		}},
		{"no carrier", func(l *Link) { l.Carrier = false }, []result.Finding{
			{Level: "warn", What: "eth0 has no carrier: nothing is plugged in, or the other end is down"},
		}},
		{"small frames and rings", func(l *Link) {
			l.MTU, l.SpeedBps = 1500, 0
			l.Rings = &Rings{RX: 256, RXMax: 4096, TX: 512, TXMax: 512}
		}, []result.Finding{
			{Level: "ok", What: "eth0 is up"},
			{Level: "ok", What: "eth0 MTU 1500 of 9216", Mend: "ip link set dev eth0 mtu 9000"},
			{Level: "warn", What: "eth0 rx ring 256 of 4096", Mend: "ethtool -G eth0 rx 4096"},
			{Level: "ok", What: "eth0 tx ring 512 of 512"},
		}},
		{"offloads", func(l *Link) {
			l.MaxMTU, l.SpeedBps = 0, 0
			l.Offloads = map[string]bool{"rx-lro": true, "rx-gro": true, "tx-checksum-ipv4": true}
		}, []result.Finding{
			{Level: "ok", What: "eth0 is up"},
			{Level: "ok", What: "eth0 MTU 9000"},
			{Level: "warn", What: "eth0 lro is on: the NIC merges packets, and counts come out short", Mend: "ethtool -K eth0 lro off"},
			{Level: "ok", What: "eth0 gro is on: a capture here may show several packets as one", Mend: "ethtool -K eth0 gro off"},
			{Level: "ok", What: "eth0 tx checksums are offloaded: a capture here shows them unfinished", Mend: "ethtool -K eth0 tx off"},
		}},
		{"loopback", func(l *Link) { *l = Link{Name: "lo", Up: true, Carrier: true, Loopback: true, MTU: 65536} }, []result.Finding{
			{Level: "ok", What: "lo is up"},
		}},
	} {
		l := nic
		tt.change(&l)
		if diff := cmp.Diff(tt.want, l.check()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
