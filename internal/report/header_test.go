package report

import (
	"strings"
	"testing"

	"linerate/internal/result"
)

func TestAskedAndAchieved(t *testing.T) {
	rate := &result.Rate{PPS: 1.2e6, L1Bps: 4e9, L2Bps: 3e9, L3Bps: 2e9, L4Bps: 1e9}
	for _, tt := range []struct {
		config          result.Config
		asked, achieved string
	}{
		{result.Config{RateBps: 1_048_576, Layer: "l4"}, "1.048576 Mbit/s payload", "asked 1.048576 Mbit/s payload, achieved 1 Gbit/s"},
		{result.Config{RateBps: 9.5e9, Layer: "l1"}, "9.5 Gbit/s L1", "asked 9.5 Gbit/s L1, achieved 4 Gbit/s"},
		{result.Config{RateBps: 9.5e9, Layer: "l2"}, "9.5 Gbit/s L2", "asked 9.5 Gbit/s L2, achieved 3 Gbit/s"},
		{result.Config{RateBps: 9.5e9, Layer: "l3"}, "9.5 Gbit/s L3", "asked 9.5 Gbit/s L3, achieved 2 Gbit/s"},
		{result.Config{RatePps: 1_488_095}, "1.488095 Mpps", "asked 1.488095 Mpps, achieved 1.2 Mpps"},
		{result.Config{Rate: "max"}, "as fast as the path can", ""},
	} {
		if got := asked(&tt.config); got != tt.asked {
			t.Errorf("asked: %q, want %q", got, tt.asked)
		}
		if got := achieved(&tt.config, rate); got != tt.achieved {
			t.Errorf("achieved: %q, want %q", got, tt.achieved)
		}
		if got := achieved(&tt.config, nil); got != "" {
			t.Errorf("achieved without a rate: %q, want nothing", got)
		}
	}
}

// A server sends where its client says reverse.
func TestHeaderSaysWhichWay(t *testing.T) {
	for _, tt := range []struct{ command, direction, want string }{
		{"test", "forward", "udp to "}, {"test", "reverse", "udp from "}, {"test", "bidir", "udp to and from "},
		{"serve", "forward", "udp from "}, {"serve", "reverse", "udp to "}, {"serve", "bidir", "udp to and from "},
	} {
		var b strings.Builder
		c := result.Config{Protocol: "udp", Peer: "iperf3", Direction: tt.direction, Destination: "10.0.0.1:2"}
		Options{}.header(&b, &result.Report{Command: tt.command, Config: &c})
		if !strings.HasPrefix(b.String(), tt.want+"10.0.0.1:2") {
			t.Errorf("%s %s: %q, want %q first", tt.command, tt.direction, b.String(), tt.want)
		}
	}
}

func TestAnyAddress(t *testing.T) {
	for in, want := range map[string]string{
		"0.0.0.0:5201": "*:5201", "[::]:5201": "*:5201", ":5201": "*:5201",
		"10.0.0.1:5201": "10.0.0.1:5201", "[fd77::2]:5201": "[fd77::2]:5201",
	} {
		if got := anyAddress(in); got != want {
			t.Errorf("anyAddress(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFrames(t *testing.T) {
	for want, c := range map[string]result.Config{
		"9018-byte frames (8972 payload)": {FrameBytes: 9018, PayloadBytes: 8972},
		"1472 bytes of payload":           {PayloadBytes: 1472},
		"frames of aaafg":                 {IMIX: "aaafg"},
		"":                                {},
	} {
		if got := frames(&c); got != want {
			t.Errorf("frames(%+v) = %q, want %q", c, got, want)
		}
	}
}
