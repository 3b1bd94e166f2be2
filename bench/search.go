package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linerate/bench/search"
	"linerate/internal/result"
	"linerate/internal/units"
)

// Methods by which Search searches.
const (
	MLRsearch = "mlrsearch"
	RFC2544   = "rfc2544"
)

// A Search says what to search for: the highest rate that a path carries.
type Search struct {
	Run    Runner
	Frames []int      // bytes with FCS
	Most   units.Rate // highest rate to try: packets, bits at a layer, or max
	Layer  units.Layer
	IPv6   bool
	Method string
	Loss   float64       // a second goal besides no loss at all, 0..1; 0 for none
	Trial  time.Duration // that decides
	// Repeats is how often RFC2544 then measures latency and back-to-back frames; 0
	// for neither.
	Repeats  int
	LineBps  uint64 // speed of the link; 0 if unknown
	Version  string
	Started  func(*result.Report, time.Duration) // with the time that it may take
	Progress func(line string)
}

const (
	// width is how near, in parts of it, the lowest rate that failed comes to the
	// highest that passed before the search ends.
	width = 0.002
	// steering is the length of the trials by which RFC2544 finds where to look
	// with those that decide.
	steering = 2 * time.Second
	// A load is decided by MLRsearch with so many trials, of which half may be bad:
	// three equal ones do.
	trialsPerLoad = 5
	mayBeBad      = 0.5
	// expectedTrials is about how many trials a search takes.
	expectedTrials = 30
	leastLoad      = loadsPerPacket / 10
)

// Search searches for each frame size. What was found until an error or the end of
// ctx comes back with it.
func (c *Search) Search(ctx context.Context) (*result.Report, error) {
	rep := newReport("search", c.Version, c.Trial)
	each := time.Duration(expectedTrials) * (c.Trial + c.settle())
	if c.Method == RFC2544 {
		each = time.Duration(expectedTrials)*(min(c.Trial, steering)+c.settle()) + 2*c.Trial
		each += time.Duration(c.Repeats) * (c.latencyTakes() + c.burstsTake())
	}
	c.Started(rep, time.Duration(len(c.Frames))*each)
	clock := newClock(c.Progress, len(c.Frames), each)
	run := c.Run.series(rep)
	for i, frame := range c.Frames {
		o := &offers{run: run, frame: frame, settle: c.settle(), before: clock.show(i)}
		err := c.size(ctx, o, rep)
		if err != nil {
			return broken(ctx, rep, fmt.Errorf("%d-byte frames: %w", frame, err))
		}
	}
	return rep, nil
}

// settle is the pause after a trial: at most the five seconds of RFC 2544, section
// 23, and in proportion for short ones.
func (c *Search) settle() time.Duration { return min(c.Trial/10, 5*time.Second) }

// size searches at one frame size and adds its rows to the report; after an error
// they say what is known.
func (c *Search) size(ctx context.Context, o *offers, rep *result.Report) error {
	most, why, err := ceiling(ctx, o, c.Most, c.Layer, c.stack(), c.LineBps, c.Trial)
	if err != nil {
		return err
	}
	goals := []search.Goal{c.goal(0)}
	if c.Loss > 0 {
		goals = append(goals, c.goal(c.Loss))
	}
	if c.Method == MLRsearch {
		m := &search.MLR{Min: leastLoad, Max: most, Goals: goals}
		err = o.strategy(ctx, m)
		for i, b := range m.Results(o.history) {
			c.warn(rep, o, b.Lower)
			f := &result.Found{Goal: goalName(i), LossRatio: goals[i].Loss, Method: c.Method}
			if b.Lower != 0 {
				conditional := b.Conditional / loadsPerPacket
				f.ConditionalPPS = &conditional
			}
			rep.Results = append(rep.Results, c.row(o, f, b.Lower, b.Upper, most, why, err))
		}
		return err
	}
	for i, g := range goals {
		b := &search.Binary{Max: most, Resolution: 1, Width: width, Loss: g.Loss, Duration: c.Trial, Steer: min(c.Trial, steering)}
		of := &offers{run: o.run, frame: o.frame, settle: o.settle, before: o.before}
		err = of.strategy(ctx, b)
		lower, ok := b.Result(of.history)
		if !ok {
			lower = 0
		}
		f := &result.Found{Goal: goalName(i), LossRatio: g.Loss, Method: c.Method}
		c.warn(rep, of, lower)
		upper := b.Failed(of.history)
		row := c.row(of, f, lower, upper, most, why, err)
		if err == nil && g.Loss == 0 && lower > 0 {
			err = c.beyond(ctx, of, f, lower, upper, most)
		}
		rep.Results = append(rep.Results, row)
		if err != nil {
			return err
		}
	}
	return nil
}

// beyond measures what RFC 2544 asks for once the throughput is known: latency at
// it, and, where it is not all that can be offered, back-to-back frames.
func (c *Search) beyond(ctx context.Context, o *offers, f *result.Found, lower, upper, most uint64) error {
	if c.Repeats == 0 {
		return nil
	}
	if err := c.latency(ctx, o, f, lower); err != nil || upper == 0 {
		return err
	}
	return c.backToBack(ctx, o, f, most)
}

// warn says in the report where trials were too short for what was found, once.
func (c *Search) warn(rep *result.Report, o *offers, lower uint64) {
	if lower == 0 {
		return
	}
	if w := o.tooShort(lower, c.Trial); w != "" && !slices.Contains(rep.Warnings, w) {
		rep.Warnings = append(rep.Warnings, w)
	}
}

// goalName names the goals as benchmarks of switches do.
func goalName(i int) string { return [...]string{"ndr", "pdr"}[i] }

func (c *Search) goal(loss float64) search.Goal {
	return search.Goal{
		FinalTrial: c.Trial, DurationSum: trialsPerLoad * c.Trial, Loss: loss, Exceed: mayBeBad,
		Width: width, InitialTrial: c.Trial, Preceding: 2,
	}
}

func (c *Search) stack() units.Stack { return units.Stack{IPv6: c.IPv6} }

// row is what was found for a goal.
func (c *Search) row(o *offers, f *result.Found, lower, upper, most uint64, why string, err error) result.Row {
	row := result.Row{Config: result.Config{Protocol: "udp", FrameBytes: o.frame, DurationS: c.Trial.Seconds()}, Trials: o.trials, Found: f}
	if len(o.reports) > 0 {
		row.Config = *o.reports[0].Config
	}
	row.Config.RateBps, row.Config.RatePps, row.Config.Rate = 0, 0, ""
	pps := func(load uint64) *float64 {
		if load == 0 {
			return nil
		}
		v := float64(load) / loadsPerPacket
		return &v
	}
	f.PPS, f.UpperPPS = pps(lower), pps(upper)
	switch {
	case errors.Is(err, context.Canceled):
		f.Reason = "stopped before it was found"
	case err != nil:
		f.Reason = "broken off: " + err.Error()
	case lower == 0:
		f.Reason = "even the lowest rate lost more"
	case upper == 0 && lower == most:
		f.Reason = why
	case o.heldUp(upper, f.LossRatio):
		f.Reason = fmt.Sprintf("this host did not keep up %s: it was held up, and the path lost none", units.FormatPackets(*f.UpperPPS))
	default:
		f.Reason = fmt.Sprintf("%s lost more", units.FormatPackets(*f.UpperPPS))
	}
	if lower == 0 {
		return row
	}
	if best := o.best(lower, c.Trial); best != nil {
		row.Sender, row.Receiver = best.Sender, best.Receiver
		if r := best.Sender.Rate; r != nil && r.PPS < *f.PPS {
			f.PPS = &r.PPS // a stall took the rest
		}
	}
	row.RowRate = &result.RowRate{PPS: *f.PPS, L2Bps: *f.PPS * float64(8*o.frame)}
	f.SpreadPPS = o.spread(lower, c.Trial)
	if c.LineBps > 0 {
		ratio := row.PPS * float64(8*(o.frame+units.WireBytes)) / float64(c.LineBps)
		f.LineRatio = &ratio
	}
	return row
}

// ceiling is the highest load to try at a frame size, and why there is none above.
// Where it was left open it is what this host can send, or the link.
func ceiling(ctx context.Context, o *offers, most units.Rate, layer units.Layer, stack units.Stack, lineBps uint64, trial time.Duration) (load uint64, why string, err error) {
	payload := stack.PayloadBytes(o.frame)
	switch most.Unit {
	case units.Packets:
		return most.Micro / (units.MicrosPerUnit / loadsPerPacket), "the highest rate that was asked for passed", nil
	case units.Bits:
		if most.Layer != 0 {
			layer = most.Layer
		}
		if layer == 0 {
			layer = units.L4
		}
		bits := float64(most.Micro) / units.MicrosPerUnit
		return loadOf(bits / float64(8*stack.BytesAt(layer, payload))), "the highest rate that was asked for passed", nil
	}
	sent, err := o.fastest(ctx, trial)
	if err != nil {
		return 0, "", err
	}
	if lineBps > 0 {
		if line := float64(lineBps) / float64(8*stack.BytesAt(units.L1, payload)); line <= sent {
			return loadOf(line), "the link carries no more: that is its speed", nil
		}
	}
	return loadOf(sent), fmt.Sprintf("this host sends no faster than %s at this size", units.FormatPackets(sent)), nil
}

// newReport begins the report of a list of trials.
func newReport(command, version string, trial time.Duration) *result.Report {
	return &result.Report{
		Schema: result.Schema, Linerate: version, Command: command,
		Started: time.Now().Format(time.RFC3339Nano),
		Config:  &result.Config{Protocol: "udp", Direction: "forward", DurationS: trial.Seconds()},
	}
}

// broken is the report of what was found until an error. A stop is none.
func broken(ctx context.Context, rep *result.Report, err error) (*result.Report, error) {
	if ctx.Err() != nil {
		return rep, nil
	}
	rep.Error = err.Error()
	return rep, err
}
