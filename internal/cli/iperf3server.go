package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/serve"
	"linerate/internal/session"
)

// serve runs a server until it is stopped, or with -1 for one test. The daemon is nil
// for a server on a terminal.
func (a *iperf3Args) serve(ctx context.Context, stdio Stdio, daemon *daemon) error {
	c, err := a.serveConfig(ctx)
	if err != nil {
		return failIPerf3(stdio, err)
	}
	o := &iperf3Server{args: a, stdio: stdio, daemon: daemon, tests: make(map[int]*iperf3Output)}
	c.Output = o.asText
	s, err := serve.Open(ctx, c, o)
	if err != nil {
		return failIPerf3(stdio, fmt.Errorf("unable to start listener for connections: %w", err))
	}
	if err := s.Serve(ctx); err != nil {
		return failIPerf3(stdio, err)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stdio.Err, "iperf3: interrupt - the server has terminated")
		return &exitError{status: exitFailed}
	}
	return nil
}

func (a *iperf3Args) serveConfig(ctx context.Context) (serve.Config, error) {
	c := serve.Config{Version: version(), Interval: a.interval, MaxRate: a.rateLimit, MaxDuration: a.maxDuration, MaxTests: 1}
	if a.oneOff {
		c.Tests = 1
	}
	r := plan.ServeRequest{Port: a.port, V4: a.v4, V6: a.v6, Iface: a.bindDev}
	if a.bind != "" {
		addr, device, _ := strings.Cut(a.bind, "%")
		r.Addr, r.Iface = net.JoinHostPort(addr, strconv.Itoa(a.port)), cmp.Or(device, a.bindDev)
	}
	var err error
	if c.Local, c.Device, err = plan.ResolveServe(ctx, r); err != nil {
		return c, err
	}
	gate := gateFlags{users: a.usersFile, key: a.privateKey, skew: a.skew}
	c.Gate, err = gate.open()
	return c, err
}

// iperf3Server shows the tests of a server, of which one runs at a time.
type iperf3Server struct {
	args  *iperf3Args
	stdio Stdio
	port  int

	daemon *daemon // nil for none

	mu    sync.Mutex
	tests map[int]*iperf3Output // by number
}

// Listening says that the server waits.
func (s *iperf3Server) Listening(at netip.AddrPort) {
	s.port = int(at.Port())
	s.daemon.listens()
	s.await(1)
}

// await says for which test the server waits.
func (s *iperf3Server) await(number int) {
	if !s.args.json {
		text := newIPerf3Output(s.args, s.stdio).text
		_ = text.Program()
		_ = text.Listening(s.port, number)
	}
}

// Test begins to show a test.
func (s *iperf3Server) Test(client netip.AddrPort, number int) session.Observer {
	o := newIPerf3Output(s.args, s.stdio)
	o.facts.Host, o.facts.Port = client.Addr().Unmap().String(), int(client.Port())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests[number] = o
	return o
}

// Done shows what a test came to.
func (s *iperf3Server) Done(client netip.AddrPort, number int, rep *result.Report, err error) {
	s.mu.Lock()
	o := s.tests[number]
	delete(s.tests, number)
	s.mu.Unlock()
	if o == nil {
		o = newIPerf3Output(s.args, s.stdio)
	}
	if rep == nil {
		rep = &result.Report{}
	}
	if err != nil {
		rep.Error = oneLine(err.Error())
	}
	_ = o.finish(rep)
	if !s.args.oneOff {
		s.await(number + 1)
	}
}

// asText is what a client reads that asks for this end's output, of the test that runs.
func (s *iperf3Server) asText(rep *result.Report) string {
	var b strings.Builder
	o := newIPerf3Output(s.args, Stdio{Out: &b})
	s.mu.Lock()
	for _, test := range s.tests {
		o.facts.Host, o.facts.Port = test.facts.Host, test.facts.Port
	}
	s.mu.Unlock()
	_ = o.text.Started(rep) // a Builder takes all
	for i := range rep.Intervals {
		_ = o.text.Interval(rep, &rep.Intervals[i])
	}
	_ = o.text.Summary(rep)
	return b.String()
}
