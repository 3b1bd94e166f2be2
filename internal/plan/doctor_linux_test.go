package plan

import (
	"strings"
	"testing"

	"linerate/internal/lab"
)

func TestDoctor(t *testing.T) {
	enter(t, lab.Config{})
	for _, iface := range []string{"", "eth0"} {
		findings, err := Doctor(iface)
		must(t, err)
		if findings[0].Level != "ok" || findings[0].What != "paths: xdp packet ring gso afxdp udp" || findings[1].What != "rx paths: udp gro ring packet ebpf afxdp" {
			t.Errorf("iface %q: %+v", iface, findings[:2])
		}
		ofLink := false
		for _, f := range findings {
			ofLink = ofLink || strings.HasPrefix(f.What, "eth0 ")
		}
		if ofLink != (iface != "") {
			t.Errorf("iface %q: %+v", iface, findings)
		}
	}
	findings, err := Doctor("lo")
	must(t, err)
	if findings[0].What != "paths: gso udp" || !strings.Contains(findings[1].What, "no Ethernet frames") {
		t.Errorf("lo: %+v", findings)
	}
	_, err = Doctor("eth9")
	wantError[*HostError](t, "no such interface", err, "no interface eth9; there are: ")
}
