package bpf

import (
	"net"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
)

// verifiedMost is what the verifier may walk of a program: some 10 ms. The kernel
// loads none of a million.
const verifiedMost = 40_000

// TestVerifier holds that programs load quickly: their branches do not multiply
// the paths that the verifier walks.
func TestVerifier(t *testing.T) {
	programs := map[string]*ebpf.Program{}
	for _, hook := range []Hook{DriverXDP, DriverXDPFragments, TC} {
		tracker, err := NewTracker(hook, TrackerConfig{
			Local: netip.MustParseAddr("10.77.0.2"), MAC: make(net.HardwareAddr, 6), Longest: 1518, Flows: 1, Most: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer tracker.Close()
		programs[hook.String()] = tracker.program
	}
	transmitter, err := NewTransmitter(XmitConfig{IfIndex: 1, UDP: 34})
	if err != nil {
		t.Fatal(err)
	}
	defer transmitter.Close()
	programs["transmitter"], programs["its account"] = transmitter.objects.Xmit, transmitter.objects.Transmitted
	for name, p := range programs {
		info, err := p.Info()
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := info.VerifiedInstructions(); !ok || n > verifiedMost {
			t.Errorf("%s: the verifier walked %d instructions (known: %v), want at most %d", name, n, ok, verifiedMost)
		} else {
			t.Logf("%s: %d instructions", name, n)
		}
	}
}
