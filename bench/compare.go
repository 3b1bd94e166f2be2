// Package bench runs lists of plans and judges them: compare and what else needs
// more than one trial.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/gen"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/units"
)

// labMTU carries a 9018-byte frame.
const labMTU = 9000

// A Comparison says what to compare, and where.
type Comparison struct {
	Host     string     // HOST or HOST:PORT that runs linerate serve; empty for a lab of its own on this machine
	Port     int        // where Host names none
	Frames   []int      // frame sizes with FCS; too small a one for its path is left out
	Paths    []string   // of gen.Paths; none for all
	Rate     units.Rate // that each path is asked for
	Layer    units.Layer
	NoGSO    bool          // no super-frames, and so no path gso
	RX       string        // how the receiver counts
	Trials   int           // of each path at each size
	Trial    time.Duration // length of one
	V4, V6   bool          // the IP version; neither for what HOST resolves to, in a lab IPv4
	Iface    string        // to HOST by this interface; empty for the routing table's
	Bind     string        // to HOST from this address or interface; empty for the kernel's choice
	Version  string
	Progress func(line string)
}

// cell is one path at one frame size.
type cell struct {
	path  *gen.Path
	frame int
	runs  []run
}

// run is one trial: both ends' reports.
type run struct {
	sent, counted *result.Report
}

// Compare runs every path at every size, trials interleaved so that a change of
// the machine's speed meets all of them. What was measured until an error or the
// end of ctx comes back with it.
func Compare(ctx context.Context, c Comparison) (*result.Report, error) {
	rep := &result.Report{
		Schema: result.Schema, Linerate: c.Version, Command: "compare",
		Started: time.Now().Format(time.RFC3339Nano),
		Config: &result.Config{
			Protocol: "udp", Peer: "linerate", Direction: "forward", RX: c.RX,
			Rate: c.Rate.String(), DurationS: c.Trial.Seconds(), Flows: 1,
		},
	}
	var where site
	if c.Host != "" {
		peer := peerSite{&c}
		if err := peer.reach(ctx); err != nil {
			return nil, err
		}
		where = peer
	} else {
		l, err := lab.New(lab.Config{MTU: labMTU})
		if err != nil {
			return nil, &plan.HostError{Err: err}
		}
		defer l.Close()
		where = labSite{&c, l}
	}
	cells, err := c.cells(ctx, where, rep)
	if err != nil {
		return nil, err
	}
	if len(cells) == 0 && len(rep.NotHere) > 0 {
		no := rep.NotHere[0]
		err = &plan.HostError{Err: fmt.Errorf("none of these paths can run here: %s: %s", no.Path, no.Why)}
	} else {
		err = c.trials(ctx, where, cells)
	}
	rep.Results = rows(cells)
	switch {
	case ctx.Err() != nil:
		err = nil // stopped, not failed: what was measured stands
	case err != nil:
		rep.Error = err.Error()
	}
	return rep, err
}

// cells lists what to run, and in the report what can't be run here.
func (c *Comparison) cells(ctx context.Context, where site, rep *result.Report) ([]*cell, error) {
	names := c.Paths
	if len(names) == 0 {
		for _, p := range gen.Paths {
			names = append(names, p.Name)
		}
	}
	var paths []*gen.Path
	for _, name := range names {
		p, err := gen.Find(name)
		if err != nil {
			return nil, &plan.UsageError{Flag: "paths", Msg: err.Error()}
		}
		if name == "gso" && c.NoGSO {
			rep.NotHere = append(rep.NotHere, result.NotHere{Path: name, Why: "--no-gso"})
			continue
		}
		paths = append(paths, p)
	}
	var cells []*cell
	left := map[result.NotHere]bool{} // out, and told
	for _, frame := range c.Frames {
		for _, p := range paths {
			err := where.try(ctx, p, frame)
			if err == nil {
				cells = append(cells, &cell{path: p, frame: frame})
				continue
			}
			n := result.NotHere{Path: p.Name, Why: err.Error()}
			if !left[n] {
				left[n] = true
				rep.NotHere = append(rep.NotHere, n)
			}
		}
	}
	return cells, nil
}

// trials runs all cells once, then again. Each round begins with another cell, so
// that none is always first.
func (c *Comparison) trials(ctx context.Context, where site, cells []*cell) error {
	total := c.Trials * len(cells)
	for i := range total {
		round := i / len(cells)
		x := cells[(i+round)%len(cells)]
		left := time.Duration(total-i) * c.Trial
		c.Progress(fmt.Sprintf("trial %d of %d: %s, %d-byte frames, about %.0f s to go", i+1, total, x.path.Name, x.frame, left.Seconds()))
		r, err := where.run(ctx, x)
		if err == nil {
			err = whole(&result.Report{Sender: r.sent.Sender, Receiver: r.counted.Receiver})
		}
		if err != nil {
			return err
		}
		x.runs = append(x.runs, r)
	}
	return nil
}

// labTrial sends from a and counts at b.
func labTrial(ctx context.Context, l *lab.Lab, v6 bool, rx, version string, send plan.SendRequest) (run, error) {
	var r run
	to := l.B().Addr4
	if v6 {
		to = l.B().Addr6
	}
	listening := make(chan struct{})
	counted := make(chan error, 1)
	counting, stopCounting := context.WithCancel(ctx)
	defer stopCounting()
	go func() {
		counted <- l.B().Do(func() error {
			p, err := plan.ResolveReceive(counting, plan.RecvRequest{
				Addr: to.String(), Port: 5201, RX: rx, Window: 32 << 20, Format: probe.Native,
				Drain: 200 * time.Millisecond, Silence: 2 * time.Second, Iface: l.B().Interface,
			})
			if err != nil {
				return err
			}
			r.counted, err = session.Receive(counting, p, version, opened(listening))
			return err
		})
	}()
	select {
	case <-listening:
	case err := <-counted:
		return r, err
	}
	send.Host, send.Port, send.Flows, send.Window, send.Pattern = to.String(), 5201, 1, 4<<20, ramp
	errSend := l.A().Do(func() error {
		p, err := plan.ResolveSend(ctx, send)
		if err != nil {
			return err
		}
		p.Unwatched = true
		r.sent, err = session.Send(ctx, p, version, quiet{})
		return err
	})
	if errSend != nil {
		stopCounting()
	}
	return r, errors.Join(errSend, <-counted, ctx.Err())
}

// ramp is the payload of every trial.
var ramp = func() probe.Pattern {
	p, err := probe.ParsePattern("ramp")
	if err != nil {
		panic(err)
	}
	return p
}()

// quiet is an observer of a trial: only its result matters.
type quiet struct{}

func (quiet) Started(*result.Report)                    {}
func (quiet) Interval(*result.Report, *result.Interval) {}
func (quiet) Progress(string)                           {}

// opened is a quiet observer that tells when the socket is open.
type opened chan struct{}

func (o opened) Started(*result.Report)                  { close(o) }
func (opened) Interval(*result.Report, *result.Interval) {}
func (opened) Progress(string)                           {}
