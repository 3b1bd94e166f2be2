package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A wire is a simulated path of a test: a host that sends no faster than fastest,
// and a link that carries capacity packets/s and drops the rest.
type wire struct {
	fastest, capacity float64
	buffer            uint64 // frames that it holds above its capacity
	stalls            int    // the next so many trials are held up by the sender
	breaks            int    // the trial, from 1, that fails; 0 for none
	trials            int
}

func (w *wire) run(_ context.Context, o Offer) (*result.Report, error) {
	w.trials++
	if w.trials == w.breaks {
		return nil, &plan.PeerError{Err: errors.New("the control connection broke")}
	}
	seconds := o.seconds()
	asked := w.fastest
	if o.Rate.Unit == units.Packets {
		asked = float64(o.Rate.Micro) / units.MicrosPerUnit
	}
	due := uint64(asked * seconds)
	sent := min(due, uint64(w.fastest*seconds))
	carried := min(sent, uint64(math.Ceil(w.capacity*seconds))+w.buffer)
	pacing := &result.SentPacing{Shortfall: due - sent}
	if w.stalls > 0 {
		w.stalls--
		carried -= carried / 100
		pacing.LatePackets = 5
	}
	rate := func(n uint64) *result.Rate {
		pps := float64(n) / seconds
		return &result.Rate{PPS: pps, L2Bps: pps * float64(8*o.Frame)}
	}
	loss := float64(sent-carried) / float64(sent)
	return &result.Report{
		Config:   &result.Config{FrameBytes: o.Frame, Peer: "iperf3"},
		Sender:   &result.Sender{Rate: rate(sent), SentPackets: &result.SentPackets{Packets: sent}, SentPacing: pacing},
		Receiver: &result.Receiver{Rate: rate(carried), ArrivedPackets: &result.ArrivedPackets{Packets: carried, Unique: carried, Lost: sent - carried, LossRatio: &loss}},
	}, nil
}

// A host that sends less than was asked for does not blame the path.
func TestSearchTellsTheHostFromThePath(t *testing.T) {
	w := &wire{fastest: 20_000, capacity: 1e6}
	c := &Search{
		Run: w.run, Frames: []int{64}, Most: units.Rate{Unit: units.Packets, Micro: 100_000 * units.MicrosPerUnit}, Method: MLRsearch, Trial: 10 * time.Millisecond,
		Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Search(context.Background())
	if err != nil || !strings.HasPrefix(rep.Results[0].Found.Reason, "this host did not keep up 20.0") {
		t.Errorf("%v, %q", err, rep.Results[0].Found.Reason)
	}
}

// search of a simulated wire; a trial takes no time.
func (w *wire) search(method string, loss float64, frames ...int) (*result.Report, error) {
	c := &Search{
		Run: w.run, Frames: frames, Most: units.Rate{Unit: units.Max}, Method: method, Loss: loss, Trial: 10 * time.Millisecond,
		LineBps: 1e9, Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	return c.Search(context.Background())
}

func TestSearchOfASimulatedWire(t *testing.T) {
	for _, method := range []string{MLRsearch, RFC2544} {
		w := &wire{fastest: 400_000, capacity: 50_000, stalls: 2}
		rep, err := w.search(method, 0.01, 1518, 64)
		if err != nil || len(rep.Results) != 4 {
			t.Fatalf("%s: %d rows, %v", method, len(rep.Results), err)
		}
		for i, row := range rep.Results {
			f := row.Found
			allowed := 50_000 / (1 - f.LossRatio)
			if i%2 == 1 != (f.Goal == "pdr") || f.PPS == nil || *f.PPS > allowed*1.003 || *f.PPS < allowed*0.997 {
				t.Errorf("%s: row %d found %v of %v packets/s: %+v", method, i, *f.PPS, allowed, f)
				continue
			}
			if ratio := *row.Receiver.LossRatio; ratio > f.LossRatio {
				t.Errorf("%s: the trial of row %d lost %v", method, i, ratio)
			}
			if line := *f.PPS * float64(8*(row.Config.FrameBytes+20)) / 1e9; math.Abs(*f.LineRatio-line) > 1e-9 || f.UpperPPS == nil {
				t.Errorf("%s: %v of the line, want %v", method, *f.LineRatio, line)
			}
			if !strings.Contains(f.Reason, "lost more") || len(row.Trials) < 5 {
				t.Errorf("%s: %q after %d trials", method, f.Reason, len(row.Trials))
			}
		}
	}
}

// On a wire with a buffer rfc2544 finds the longest burst that it takes, again and
// again, and the delay at the rate that passed; where the highest rate passes there
// is no burst to find.
func TestRFC2544BeyondTheThroughput(t *testing.T) {
	w := &wire{fastest: 1e6, capacity: 40_000, buffer: 60}
	var lasts []Offer
	c := &Search{
		Run: func(ctx context.Context, o Offer) (*result.Report, error) {
			lasts = append(lasts, o)
			rep, err := w.run(ctx, o)
			rep.Config.Peer = "linerate"
			rep.Receiver.Arrivals = &result.Arrivals{DelayNS: &result.Delay{Min: 5, P50: int64(10 * len(lasts)), P99: 70, Max: 99, Clock: "same"}}
			if o.Trips {
				rep.RTTNS = &result.RoundTrips{Times: &result.Times{Min: 11, P50: 20, P99: 30, Max: 40}}
			}
			return rep, err
		},
		Frames: []int{512}, Most: units.Rate{Unit: units.Packets, Micro: 100_000 * units.MicrosPerUnit}, Method: RFC2544, Trial: 50 * time.Millisecond,
		Repeats: 3, Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Search(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f := rep.Results[0].Found
	var runs []Offer
	for _, o := range lasts {
		if o.Trips {
			runs = append(runs, o)
		}
	}
	if l := f.Latency; l == nil || len(l.Runs) != 3 || len(runs) != 3 || l.DelayNS.Min != 5 || l.DelayNS.P50 != l.Runs[1].DelayNS.P50 || l.RTTNS.P99 != 30 {
		t.Fatalf("latency %+v of %v", l, runs)
	}
	if pps := float64(runs[0].Rate.Micro) / units.MicrosPerUnit; math.Abs(pps / *f.PPS - 1) > 1e-3 {
		t.Errorf("latency at %v packets/s, found %v", pps, *f.PPS)
	}
	b := f.BackToBack
	const longest = 60 / (1 - 40_000.0/100_000) // what the buffer takes while the wire carries some
	if b == nil || len(b.Bursts) != 3 || b.PPS != 100_000 || b.Min != b.Max || *b.StdDev != 0 {
		t.Fatalf("back to back %+v", b)
	}
	if b.Frames > longest+2 || b.Frames < longest*(1-burstWidth)-2 || math.Abs(b.BufferFrames/60-1) > 0.05 {
		t.Errorf("a burst of %v frames, want %v; a buffer of %v", b.Frames, longest, b.BufferFrames)
	}
	w.capacity = 1e6
	if rep, err = c.Search(context.Background()); err != nil || rep.Results[0].Found.BackToBack != nil || rep.Results[0].Found.Latency == nil {
		t.Errorf("%v, %+v", err, rep.Results[0].Found)
	}
}

// What stops a search is said: the sender, the link, or that nothing passes.
func TestSearchSaysWhatStoppedIt(t *testing.T) {
	for want, w := range map[string]*wire{
		"this host sends no faster than 20 kpps":      {fastest: 20_000, capacity: 1e9},
		"the link carries no more: that is its speed": {fastest: 1e7, capacity: 1e9},
		"even the lowest rate lost more":              {fastest: 20_000, capacity: 0},
		"broken off: the control connection broke":    {fastest: 20_000, capacity: 10_000, breaks: 6},
	} {
		rep, err := w.search(MLRsearch, 0, 1518)
		if len(rep.Results) != 1 || !strings.HasPrefix(rep.Results[0].Found.Reason, want) {
			t.Errorf("%q, %v, want %q", rep.Results[0].Found.Reason, err, want)
			continue
		}
		if broke := w.breaks > 0; broke != (err != nil) || broke != (rep.Error != "") {
			t.Errorf("%s: %v", want, err)
		}
		if n := len(rep.Results[0].Trials); w.breaks > 0 && n != w.breaks-3 { // two asked how fast this host is
			t.Errorf("%d trials were kept of %d", n, w.breaks-3)
		}
	}
}

func TestSearchThatWasStoppedSaysSo(t *testing.T) {
	w := &wire{fastest: 20_000, capacity: 10_000}
	ctx, stop := context.WithCancel(context.Background())
	c := &Search{
		Run: func(ctx context.Context, o Offer) (*result.Report, error) {
			if w.trials == 2 {
				stop()
				return nil, ctx.Err()
			}
			return w.run(ctx, o)
		},
		Frames: []int{1518}, Most: units.Rate{Unit: units.Packets, Micro: 10_000 * units.MicrosPerUnit}, Method: MLRsearch,
		Trial: 10 * time.Millisecond, Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Search(ctx)
	if err != nil || rep.Error != "" || len(rep.Results) != 1 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if row := rep.Results[0]; row.Found.Reason != "stopped before it was found" || len(row.Trials) == 0 {
		t.Errorf("%q after %d trials", row.Found.Reason, len(row.Trials))
	}
}

func TestSweepOfASimulatedWire(t *testing.T) {
	w := &wire{fastest: 100_000, capacity: 65_000}
	c := &Sweep{
		Run: w.run, Frames: []int{512, 64}, Most: units.Rate{Unit: units.Packets, Micro: 100_000 * units.MicrosPerUnit}, Percent: 10, Repeats: 2,
		Trial: 10 * time.Millisecond, Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	rep, err := c.Sweep(context.Background())
	if err != nil || len(rep.Results) != 12 || rep.Config.Peer != "iperf3" { // 100, 90, 80, 70, 60, 50 %
		t.Fatalf("%d rows, %v, of %+v", len(rep.Results), err, rep.Config)
	}
	for i, row := range rep.Results {
		offered := 100_000 - 10_000*float64(i%6)
		want := max(0, 1-65_000/offered)
		if len(row.Trials) != 2 || row.Trials[0].Offered.PPS != offered || math.Abs(*row.Receiver.LossRatio-want) > 2e-3 {
			t.Errorf("row %d: %v lost %v, want %v at %v", i, row.Trials[0].Offered, *row.Receiver.LossRatio, want, offered)
		}
	}
	w = &wire{fastest: 100_000, capacity: 65_000, breaks: 4}
	c.Run = w.run
	if rep, err = c.Sweep(context.Background()); err == nil || len(rep.Results) != 2 || rep.Error == "" {
		t.Errorf("%d rows, %v", len(rep.Results), err)
	}
	// What was to be tried again tells nothing of its rate.
	w = &wire{fastest: 100_000, capacity: 1e6, stalls: 1, breaks: 2}
	c.Run = w.run
	if rep, err = c.Sweep(context.Background()); err == nil || len(rep.Results) != 0 {
		t.Errorf("%d rows, %v", len(rep.Results), err)
	}
}

// A peer that is gone can't be reached if nobody ever was there, and breaks off what
// was begun: at the sizes that follow, too, and by every command.
func TestOnlyAPeerThatNeverWasThereCantBeReached(t *testing.T) {
	none := func(*result.Report, time.Duration) {}
	quiet := func(string) {}
	top := units.Rate{Unit: units.Packets, Micro: 10_000 * units.MicrosPerUnit}
	forward := 9000
	for name, run := range map[string]func(Runner) error{
		"search": func(r Runner) error {
			c := &Search{Run: r, Frames: []int{64, 1518}, Most: top, Method: MLRsearch, Trial: 10 * time.Millisecond, Started: none, Progress: quiet}
			_, err := c.Search(context.Background())
			return err
		},
		"sweep": func(r Runner) error {
			c := &Sweep{Run: r, Frames: []int{64, 1518}, Most: top, Percent: 10, Trial: 10 * time.Millisecond, Started: none, Progress: quiet}
			_, err := c.Sweep(context.Background())
			return err
		},
		"mtu": func(r Runner) error {
			c := &Loads{Run: r, Frames: []int{64, 512, 1518, 9018}, Rate: top, Trial: 10 * time.Millisecond, Progress: quiet}
			return c.Loss(context.Background(), &result.Report{Config: &result.Config{}, Results: []result.Row{{MTU: &result.MTU{Forward: &forward}}}})
		},
	} {
		for breaks := 1; breaks <= 4; breaks++ {
			w := &wire{fastest: 20_000, capacity: 20_000, breaks: breaks}
			err := run(w.run)
			var peer *plan.PeerError
			if gone := errors.As(err, &peer); err == nil || gone != (breaks == 1) {
				t.Errorf("%s: trial %d failed: %v", name, breaks, err)
			}
		}
	}
}

// A receiver that did not hear how much was sent can't be believed.
func TestATrialWithoutTheSendersCountIsRefused(t *testing.T) {
	w := &wire{fastest: 1000, capacity: 1000}
	c := &Search{
		Run: func(ctx context.Context, o Offer) (*result.Report, error) {
			rep, err := w.run(ctx, o)
			rep.Receiver.LossIsLowerBound = true
			return rep, err
		},
		Frames: []int{64}, Most: units.Rate{Unit: units.Max}, Method: MLRsearch, Trial: 10 * time.Millisecond,
		Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
	}
	if _, err := c.Search(context.Background()); err == nil || !strings.Contains(err.Error(), "end marker") {
		t.Errorf("%v", err)
	}
}
