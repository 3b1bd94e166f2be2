package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A link that passes jumbo frames one by one and drops them above a rate: the ladder
// finds their size whole, and the loss by size is what the middle host dropped.
func TestJumbosThatAreDroppedUnderLoad(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("v6=%v", v6), func(t *testing.T) {
			l, err := lab.New(lab.Config{MTU: 9000, Router: true})
			check(t, err)
			defer l.Close()
			in(t, l.Middle(), "nft", "add table inet t ; add chain inet t through { type filter hook forward priority 0 ; } ; "+
				"add rule inet t through meta length > 4000 limit rate over 100/second counter drop")
			m := measure(t, l, v6, 9000, false)
			if m.Forward == nil || *m.Forward != 9000 {
				t.Fatalf("%d bytes pass one by one, want 9000", deref(m.Forward))
			}
			before := dropped(t, l.Middle()) // of the ladder, which tries again
			c := &Loads{
				Run: inLab(l, v6, "udp"), Frames: []int{1518, 4018, 4019, 9018}, Rate: units.Rate{Unit: units.Packets, Micro: 1000 * units.MicrosPerUnit},
				Trial: 300 * time.Millisecond, Progress: func(string) {},
			}
			rep := &result.Report{Config: &result.Config{}, Results: []result.Row{{MTU: m}}}
			check(t, c.Loss(context.Background(), rep))
			var lost uint64
			for _, row := range rep.Results[1:] {
				n := row.Trials[0].Lost
				if small := row.Config.FrameBytes <= 4018; small != (n == 0) {
					t.Errorf("%d of %d-byte frames were lost", n, row.Config.FrameBytes)
				}
				lost += n
			}
			if drops := dropped(t, l.Middle()) - before; len(rep.Results) != 5 || lost != drops {
				t.Errorf("%d were lost in %d rows, the middle host dropped %d", lost, len(rep.Results)-1, drops)
			}
		})
	}
}

// dropped is what the one counter of a host's nftables counted.
func dropped(t *testing.T, h *lab.Host) uint64 {
	t.Helper()
	cmd := exec.Command("nft", "-j", "list", "table", "inet", "t")
	var out []byte
	check(t, h.Do(func() (err error) {
		out, err = cmd.Output()
		return err
	}))
	var rules struct {
		Nftables []struct {
			Rule struct {
				Expr []struct{ Counter struct{ Packets uint64 } }
			}
		}
	}
	check(t, json.Unmarshal(out, &rules))
	var packets uint64
	for _, o := range rules.Nftables {
		for _, e := range o.Rule.Expr {
			packets += e.Counter.Packets
		}
	}
	return packets
}
