package bench

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
)

// Loads says at which rate to try which frame sizes once it is known what passes: a
// link may pass a few jumbo frames and drop them under load.
type Loads struct {
	Run      Runner
	Frames   []int // bytes with FCS
	Rate     units.Rate
	Trial    time.Duration
	Progress func(line string)
}

// etherOverhead is what a frame is longer than its IP packet: header and FCS.
const etherOverhead = 18

// Loss offers each frame size at one rate for a while: a row each. Sizes that do not
// pass whole, by the row of the ladder, are left out. What was measured until an
// error comes back with it.
func (l *Loads) Loss(ctx context.Context, rep *result.Report) error {
	run := l.Run.series(rep)
	for _, frame := range l.Frames {
		if m := rep.Results[0].MTU; m.Forward == nil || frame-etherOverhead > *m.Forward {
			continue
		}
		l.Progress(fmt.Sprintf("%d-byte frames at %v", frame, l.Rate))
		r, err := run(ctx, Offer{Frame: frame, Rate: l.Rate, Duration: l.Trial})
		if err != nil {
			_, err = broken(ctx, rep, fmt.Errorf("%d-byte frames: %w", frame, err))
			return err
		}
		t := judge(Offer{Frame: frame, Duration: l.Trial}, r)
		if rate := r.Config.RatePps; rate > 0 {
			t.Offered.PPS = rate
		}
		rep.Results = append(rep.Results, result.Row{
			Config: *r.Config, Sender: r.Sender, Receiver: r.Receiver, Trials: []result.Trial{t},
			RowRate: &result.RowRate{PPS: t.PPS, L2Bps: t.L2Bps},
		})
	}
	return nil
}
