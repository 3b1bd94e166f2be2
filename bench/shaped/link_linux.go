package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"linerate/bench"
	"linerate/bench/stats"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/units"
)

// A link is a lab whose way from a to b carries so many bit/s of frames without FCS
// of one size, kept by tc-tbf(8) or tc-htb(8).
type link struct {
	*lab.Lab
	frame int     // bytes with FCS
	shape float64 // packets/s to which it is shaped
}

const (
	fcs = 4
	// burst is what passes at once, of the rate: with less the link would carry less
	// than its rate each time that the machine is away.
	burst   = time.Millisecond
	waiting = 50 * time.Millisecond // of the rate, what waits
)

func newLink(shaper string, mbps, frame int) (*link, error) {
	bps := uint64(mbps) * 1e6
	in := func(d time.Duration) uint32 { return uint32(max(float64(bps)/8*d.Seconds(), float64(2*frame))) }
	l, err := lab.New(lab.Config{MTU: 9000, Shape: lab.Shape{Rate: bps, Burst: in(burst), Limit: in(waiting)}})
	if err != nil {
		return nil, err
	}
	k := &link{l, frame, float64(bps) / float64(8*(frame-fcs))}
	if shaper == "tbf" { // the lab's own
		return k, nil
	}
	for _, args := range []string{
		"qdisc replace dev mb root handle 2: htb default 1",
		// The bucket of the ceiling counts, too: it is of one frame unless told.
		fmt.Sprintf("class add dev mb parent 2: classid 2:1 htb rate %d burst %d cburst %[2]d quantum 10000", bps, in(burst)),
		fmt.Sprintf("qdisc add dev mb parent 2:1 bfifo limit %d", in(waiting)),
	} {
		if err := l.Middle().Run(exec.Command("tc", strings.Fields(args)...)); err != nil {
			l.Close()
			return nil, fmt.Errorf("tc %s: %w", args, err)
		}
	}
	return k, nil
}

const (
	overload = 1.2 // of the shape: more takes the processor that the shaper needs
	windows  = 12
	window   = 250 * time.Millisecond
)

// carried is how many frames a second the link carries while it is overloaded, as the
// kernel counts them on b's interface: nothing of linerate is asked. It is the median
// of windows, so that a stall of the machine spoils only some.
func (k *link) carried(ctx context.Context) (float64, error) {
	o := bench.Offer{
		Frame: k.frame, Duration: (windows + 3) * window,
		Rate: units.Rate{Unit: units.Packets, Micro: uint64(overload * k.shape * units.MicrosPerUnit)},
	}
	done := make(chan error, 1)
	go func() {
		_, err := bench.LabRunner(k.Lab, false, "packet")(ctx, o)
		done <- err
	}()
	time.Sleep(2 * window) // past the burst that passes at first
	rates, err := k.arriving()
	if errSend := <-done; errSend != nil {
		return 0, errSend
	}
	return stats.Median(rates), err
}

// arriving is the rate of arrivals at b in each window.
func (k *link) arriving() (rates []float64, err error) {
	err = k.B().Do(func() error {
		iface, err := host.LinkByName(k.B().Interface)
		if err != nil {
			return err
		}
		meter := host.OpenMeter(iface.Index)
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
	})
	return rates, err
}
