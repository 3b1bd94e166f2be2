package plan

import (
	"net/netip"
	"testing"
)

func TestMulticastMAC(t *testing.T) {
	for group, want := range map[string]string{
		"224.0.0.1":         "01:00:5e:00:00:01",
		"239.129.2.3":       "01:00:5e:01:02:03",
		"ff02::1":           "33:33:00:00:00:01",
		"ff15::1:ff00:abcd": "33:33:ff:00:ab:cd",
	} {
		if got := multicastMAC(netip.MustParseAddr(group)).String(); got != want {
			t.Errorf("%s: %s, want %s", group, got, want)
		}
	}
}

func TestFreePorts(t *testing.T) {
	for _, flows := range []int{1, 2, 28231, 28232, 28233, 65535} {
		for range 100 {
			first, err := FreePorts(flows)
			if err != nil || first == 0 || int(first)+flows-1 > 65535 {
				t.Fatalf("%d flows from port %d, %v", flows, first, err)
			}
			if flows <= 28232 && (first < 32768 || int(first)+flows-1 > 60999) {
				t.Fatalf("%d flows from port %d: beyond the ephemeral range", flows, first)
			}
		}
	}
	if _, err := FreePorts(65536); err == nil {
		t.Error("65536 flows found ports")
	}
}
