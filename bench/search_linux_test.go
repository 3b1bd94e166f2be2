package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"linerate/bench/stats"
	"linerate/internal/host"
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

// carried is how many frames a second the link carries, as its own end counts them
// while it is overloaded: the kernel's counter of b's interface, ours is not asked.
// It is the median of short windows, so that a stall of the sender spoils only some.
func carried(t testing.TB, l *lab.Lab, frame int, bps float64) float64 {
	t.Helper()
	done := make(chan error, 1)
	rate := units.Rate{Unit: units.Packets, Micro: uint64(1.2 * bps / float64(8*frame) * 1e6)}
	const windows, window = 12, 250 * time.Millisecond
	go func() {
		_, err := inLab(l, false, "packet")(context.Background(), Offer{Frame: frame, Rate: rate, Duration: (windows + 3) * window})
		done <- err
	}()
	time.Sleep(2 * window) // past the burst that passes at first
	var rates []float64
	check(t, l.B().Do(func() error {
		link, err := host.LinkByName("eth0")
		if err != nil {
			return err
		}
		meter := host.OpenMeter(link.Index)
		defer meter.Close()
		count := func() (uint64, time.Time) {
			return meter.Total().NIC.Counters["rx_packets"].After, time.Now()
		}
		for from, begun := count(); len(rates) < windows; {
			time.Sleep(window)
			to, ended := count()
			rates = append(rates, float64(to-from)/ended.Sub(begun).Seconds())
			from, begun = to, ended
		}
		return nil
	}))
	check(t, <-done)
	return stats.Median(rates)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shaped makes a lab whose link carries so many bit/s of frames without FCS, kept by
// tc-tbf(8) or tc-htb(8), with a queue of 50 ms.
func shaped(t testing.TB, qdisc string, bps uint64) *lab.Lab {
	t.Helper()
	limit := bps / 8 / 20
	l, err := lab.New(lab.Config{MTU: 9000, Shape: lab.Shape{Rate: bps, Limit: uint32(limit)}})
	check(t, err)
	if qdisc == "htb" {
		in(t, l.Middle(), "tc", "qdisc", "replace", "dev", "mb", "root", "handle", "2:", "htb", "default", "1")
		in(t, l.Middle(), "tc", "class", "add", "dev", "mb", "parent", "2:", "classid", "2:1",
			"htb", "rate", fmt.Sprint(bps), "burst", fmt.Sprint(max(bps/8000, 20_000)), "quantum", "10000")
		in(t, l.Middle(), "tc", "qdisc", "add", "dev", "mb", "parent", "2:1", "bfifo", "limit", fmt.Sprint(limit))
	}
	return l
}

// What is found on a shaped link is within half a percent of what the link carries,
// as the kernel counts it, at every rate, size and path. It takes minutes, and a
// machine that is not busy with other things.
func BenchmarkSearchOfAShapedLink(b *testing.B) {
	for _, qdisc := range []string{"tbf", "htb"} {
		for _, bps := range []uint64{10_000_000, 100_000_000, 500_000_000} {
			for _, frame := range []int{64, 512, 1518, 9018} {
				for _, path := range []string{"udp", "packet"} {
					b.Run(fmt.Sprintf("%s/%dM/%d/%s", qdisc, bps/1e6, frame, path), func(b *testing.B) {
						l := shaped(b, qdisc, bps)
						defer l.Close()
						searchOfAShapedLink(b, l, frame, path, float64(bps))
					})
				}
			}
		}
	}
}

func searchOfAShapedLink(b *testing.B, l *lab.Lab, frame int, path string, bps float64) {
	want := carried(b, l, frame, bps)
	most := rateOf(loadOf(1.2 * bps / float64(8*frame))) // not what one trial of this host's speed says
	for b.Loop() {
		c := &Search{
			Run: inLab(l, false, path), Frames: []int{frame}, Most: most, Method: MLRsearch, Trial: time.Second,
			Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
		}
		rep, err := c.Search(context.Background())
		check(b, err)
		row := rep.Results[0]
		if row.Receiver == nil || row.Receiver.Lost != 0 {
			b.Fatalf("%+v", row.Found)
		}
		got := row.Receiver.Rate.PPS
		if got < want*0.995 || got > want*1.005 {
			b.Errorf("found %v packets/s, the link carries %v", got, want)
		}
		b.ReportMetric(100*(got/want-1), "%off")
		b.ReportMetric(want, "carried_pps")
		b.ReportMetric(float64(len(row.Trials)), "trials")
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
