package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"linerate/internal/result"
	"linerate/internal/units"
)

// received is a receiver that lost a tenth of 100 packets.
func received(l4 float64) *result.Receiver {
	loss := 0.1
	return &result.Receiver{
		Rate:           &result.Rate{PPS: 90, L1Bps: 2 * l4, L4Bps: l4},
		ArrivedPackets: &result.ArrivedPackets{Packets: 90, LossRatio: &loss},
	}
}

func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		args  string
		layer units.Layer
		want  string // part of the error; empty for none
	}{
		{args: "--fail-loss 10%"},
		{args: "--fail-loss 0.09", want: "lost 0.1 of the packets, allowed 0.09"},
		{args: "--fail-below 5M"},
		{args: "--fail-below 5.1M", want: "5 Mbit/s arrived, wanted 5.1M"},
		{args: "--fail-below 10M@l1"},
		{args: "--fail-below 10M", layer: units.L1},
		{args: "--fail-below 10M@l4", layer: units.L1, want: "5 Mbit/s arrived"},
		{args: "--fail-below 90pps"},
		{args: "--fail-below 91pps", want: "90 packets/s arrived, wanted 91pps"},
	} {
		check := func(what string, rep *result.Report, want string) {
			fail := thresholds{layer: tt.layer}
			f := pflag.NewFlagSet("", pflag.ContinueOnError)
			fail.flags(f)
			if err := f.Parse(strings.Fields(tt.args)); err != nil {
				t.Fatalf("%s: %v", tt.args, err)
			}
			err := fail.judge(rep)
			if want == "" {
				if err != nil {
					t.Errorf("%s of %s: %v", tt.args, what, err)
				}
				return
			}
			var exit *exitError
			if !errors.As(err, &exit) || exit.status != exitThreshold || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %q", tt.args, what, err, want)
			}
		}
		check("one direction", &result.Report{Receiver: received(5e6)}, tt.want)
		perfect := received(5e9)
		perfect.Rate.PPS, *perfect.LossRatio = 1e6, 0
		check("the way back", &result.Report{Receiver: perfect, Reverse: &result.Direction{Receiver: received(5e6)}}, tt.want)
		check("nothing", &result.Report{}, "not known")
	}
}
