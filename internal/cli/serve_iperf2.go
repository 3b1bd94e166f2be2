package cli

import (
	"context"
	"fmt"
	"net/netip"

	"linerate/internal/result"
	"linerate/internal/serve"
	"linerate/internal/session"
)

// openIPerf2 listens for iperf 2's clients beside the server of a config.
func openIPerf2(ctx context.Context, c serve.Config, port int, o *serving) (*serve.IPerf2, *serve.IPerf2Sockets, error) {
	s := &serve.IPerf2{
		IPerf2Options: session.IPerf2Options{
			Version: c.Version, Interval: c.Interval, Window: iperf2Window, MostRate: c.MaxRate, MostTime: c.MaxDuration,
			ReceiveOnly: len(c.Allow) == 0,
		},
		Local: netip.AddrPortFrom(c.Local.Addr(), uint16(port)), Device: c.Device, UDP: true, TCP: true, Most: c.MaxTests,
		Allow: c.Allowed,
		Refused: func(err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			fmt.Fprintf(o.stdio.Err, "linerate: iperf 2: %s\n", oneLine(err.Error()))
		},
	}
	sockets, err := s.Listen(ctx)
	if err == nil {
		o.say("waiting for iperf 2 on port %d (TCP and UDP)", port)
	}
	return s, sockets, err
}

// iperf2Window is the socket buffer in bytes for each flow that is counted.
const iperf2Window = 4 << 20

// An iperf2Serving shows the tests of iperf 2's clients as serving does the others.
type iperf2Serving struct {
	s      *serving
	number int // of tests so far, counted apart
}

func (o *iperf2Serving) Started(*result.Report) {}

func (o *iperf2Serving) Interval(*result.Report, *result.Interval) {}

func (o *iperf2Serving) Progress(string) {}

func (o *iperf2Serving) Ended(r *result.Report) {
	o.number++
	client, err := netip.ParseAddrPort(r.Streams[0].Remote)
	if err == nil {
		o.s.Done(client, o.number, r, nil)
	}
}
