package bench

import (
	"context"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

// inLab runs trials between the hosts of a lab by a path. The sender runs before
// other programs, so that those of a busy machine decide no trial.
func inLab(l *lab.Lab, v6 bool, path string) Runner {
	return func(ctx context.Context, o Offer) (*result.Report, error) {
		r, err := labTrial(ctx, l, v6, "packet", "test", plan.SendRequest{Rate: o.Rate, Frame: o.Frame, Duration: o.Duration, Count: o.Count, Path: path, Realtime: true})
		if err != nil {
			return nil, err
		}
		return &result.Report{Config: r.sent.Config, Sender: r.sent.Sender, Receiver: r.counted.Receiver}, nil
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What each rate of a sweep loses is what the shape dropped, end markers aside.
func TestASweepLosesWhatTheShapeDrops(t *testing.T) {
	l, err := lab.New(lab.Config{Shape: lab.Shape{Rate: 50_000_000, Limit: 50 * 1514}})
	check(t, err)
	defer l.Close()
	const capacity = 50_000_000 / (8 * 1514) // packets/s
	c := &Sweep{
		Run: inLab(l, false, "packet"), Frames: []int{1518}, Most: units.Rate{Unit: units.Packets, Micro: 6 * capacity / 5 * units.MicrosPerUnit},
		Percent: 10, Repeats: 1, Trial: 300 * time.Millisecond,
		Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Sweep(context.Background())
	check(t, err)
	drops, _, err := l.ShapeDrops()
	check(t, err)
	var lost, markers uint64
	for _, row := range rep.Results {
		for _, trial := range row.Trials {
			lost += trial.Lost
			markers += 10
		}
	}
	if first := rep.Results[0].Trials[0]; lost > drops || drops > lost+markers || first.Lost == 0 || first.Offered.LossRatio < 0.1 {
		t.Errorf("lost %d, the shape dropped %d; at 1.2 times its rate %+v", lost, drops, first.Offered)
	}
}
