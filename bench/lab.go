package bench

import (
	"context"

	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// LabRunner runs trials from a lab's host a to its host b by a path of gen.Paths. Its
// sender is an ordinary thread: one of real-time priority that is never idle is taken
// off its processor for 50 ms a second in favour of those that wait for it (the
// kernel's fair server), and what such a gap lets pass and lose is no matter of the link.
func LabRunner(l *lab.Lab, v6 bool, path string) Runner {
	return func(ctx context.Context, o Offer) (*result.Report, error) {
		r, err := labTrial(ctx, l, v6, "packet", "test", plan.SendRequest{Rate: o.Rate, Frame: o.Frame, Duration: o.Duration, Count: o.Count, Path: path})
		if err != nil {
			return nil, err
		}
		return &result.Report{Config: r.sent.Config, Sender: r.sent.Sender, Receiver: r.counted.Receiver}, nil
	}
}
