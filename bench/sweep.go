package bench

import (
	"context"
	"fmt"
	"time"

	"linerate/bench/search"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A Sweep says which rates to offer at which frame sizes.
type Sweep struct {
	Run      Runner
	Frames   []int // bytes with FCS
	Most     units.Rate
	Layer    units.Layer
	IPv6     bool
	Percent  int           // of the highest rate, the size of a step
	Repeats  int           // trials at each rate
	Trial    time.Duration // length of one
	LineBps  uint64        // speed of the link; 0 if unknown
	Version  string
	Started  func(*result.Report, time.Duration)
	Progress func(line string)
}

// Sweep offers the rates of each frame size downwards until two in a row lose
// nothing. What was measured until an error or the end of ctx comes back with it.
func (c *Sweep) Sweep(ctx context.Context) (*result.Report, error) {
	rep := newReport("sweep", c.Version, c.Trial)
	settle := min(c.Trial/10, 5*time.Second)
	each := time.Duration(100/c.Percent*c.Repeats) * (c.Trial + settle)
	c.Started(rep, time.Duration(len(c.Frames))*each)
	clock := newClock(c.Progress, len(c.Frames), each)
	run := c.Run.series(rep)
	for i, frame := range c.Frames {
		o := &offers{run: run, frame: frame, settle: settle, before: clock.show(i)}
		most, _, err := ceiling(ctx, o, c.Most, c.Layer, units.Stack{IPv6: c.IPv6}, c.LineBps, c.Trial)
		if err == nil {
			err = o.strategy(ctx, &search.Curve{Max: most, Percent: c.Percent, Repeats: c.Repeats, Duration: c.Trial})
		}
		rep.Results = append(rep.Results, o.curve()...)
		if err != nil {
			return broken(ctx, rep, fmt.Errorf("%d-byte frames: %w", frame, err))
		}
	}
	return rep, nil
}

// curve is a row for each rate that was offered, the highest first.
func (o *offers) curve() (rows []result.Row) {
	n := 0 // of the trials, those that count are in the order of history
	for _, t := range o.trials {
		if len(rows) == 0 || rows[len(rows)-1].Trials[0].Offered.PPS != t.Offered.PPS {
			rows = append(rows, result.Row{})
		}
		row := &rows[len(rows)-1]
		row.Trials = append(row.Trials, t)
		if t.Again {
			continue
		}
		rep := o.reports[n]
		n++
		// The worst trial stands for the row.
		if row.Receiver == nil || t.Offered.LossRatio > lossOf(row) {
			row.Config, row.Sender, row.Receiver = *rep.Config, rep.Sender, rep.Receiver
			row.RowRate = &result.RowRate{PPS: t.PPS, L2Bps: t.L2Bps}
		}
	}
	if n := len(rows); n > 0 && rows[n-1].Receiver == nil {
		rows = rows[:n-1] // stopped before one of its trials counted
	}
	return rows
}

// lossOf is the loss ratio of the trial that stands for a row.
func lossOf(row *result.Row) float64 {
	due := row.Sender.Packets + row.Sender.Shortfall
	return search.LossRatio(due, row.Receiver.Unique)
}
