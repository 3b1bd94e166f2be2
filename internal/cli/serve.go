package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/report"
	"linerate/internal/result"
	"linerate/internal/serve"
	"linerate/internal/session"
	"linerate/internal/units"
)

func newServe(stdio Stdio) *cobra.Command {
	r := plan.ServeRequest{}
	c := serve.Config{Version: version()}
	var gate gateFlags
	var jsonOut, verbose bool
	var iperf2Port int
	cmd := &cobra.Command{
		Use:   "serve [ADDR:PORT]",
		Short: "Wait for tests: linerate's own, stock iperf3's and stock iperf 2's",
		Long: `Wait for tests: linerate's own and stock iperf3's, over TCP and UDP of one port.

Many run at once. What a client may ask for is limited by the flags below; data
goes only to the address that holds the control connection. iperf 2 has none: over
UDP its clients are sent data (-R, --full-duplex, -d, -r) only where --allow names
their network, as anybody can forge the address that asks.`,
		Example: `  linerate serve
  linerate serve 10.0.0.2:5201 --max-duration 1m --allow 10.0.0.0/8`,
		Args: exactly(0, 1, "at most one ADDR:PORT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.Addr = args[0]
			}
			return runServe(cmd.Context(), r, c, iperf2Port, gate, &serving{stdio: stdio, json: jsonOut, verbose: verbose})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	add(f, &r.Port, "port", "p", "5201", "PORT", "port, unless ADDR:PORT names one", within(1, 65535))
	add(f, &iperf2Port, "iperf2-port", "", "5001", "PORT", "port for clients of iperf 2; 0 for none, as with --auth-file if not named: they can't log in", within(0, 65535))
	addressFlags(f, &r.V4, &r.V6, &r.Iface)
	add(f, &c.MaxRate, "max-rate", "", "", "RATE", "most that a test may send, in bits of payload (default any)", parseMaxRate)
	add(f, &c.MaxDuration, "max-duration", "", "1h", "TIME", "longest test", duration(time.Second))
	add(f, &c.MaxTests, "max-tests", "", "64", "N", "most tests at once", within(1, 10000))
	add(f, &c.Allow, "allow", "", "", "CIDR,…", "clients that are served (default any, and none is sent data by iperf 2 over UDP)", parsePrefixes)
	f.StringVar(&gate.users, "auth-file", "", "users that are served: lines of user,hash as iperf3's --authorized-users-path")
	f.StringVar(&gate.key, "rsa-private-key-path", "", "private key (PEM) that logins are encrypted for, with --auth-file")
	add(f, &gate.skew, "time-skew-threshold", "", "10s", "TIME", "how far a client's clock may be off in a login", duration(time.Second))
	add(f, &c.Tests, "tests", "", "", "N", "end after so many tests", within(1, 1<<30))
	f.BoolVarP(new(bool), "one-off", "1", false, "end after one test")
	intervalFlag(f, &c.Interval)
	f.BoolVar(&jsonOut, "json", false, "print each test's report as one JSON object")
	f.BoolVarP(&verbose, "verbose", "v", false, "say more of each test")
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Flags().Changed("one-off") {
			c.Tests = 1
		}
		if gate.users != "" && !cmd.Flags().Changed("iperf2-port") {
			iperf2Port = 0 // its clients can't log in
		}
	}
	return cmd
}

// gateFlags say who may log in.
type gateFlags struct {
	users, key string
	skew       time.Duration
}

// open makes the gate; nil if everybody is served.
func (g *gateFlags) open() (*iperf3.Gate, error) {
	switch {
	case g.users == "" && g.key == "":
		return nil, nil
	case g.users == "":
		return nil, &plan.UsageError{Flag: "rsa-private-key-path", Msg: "needs --auth-file, the users that may log in"}
	case g.key == "":
		return nil, &plan.UsageError{Flag: "auth-file", Msg: "needs --rsa-private-key-path, the key that logins are encrypted for"}
	}
	users, err := iperf3.ReadUsers(g.users)
	if err != nil {
		return nil, &plan.UsageError{Flag: "auth-file", Msg: err.Error()}
	}
	key, err := iperf3.ReadPrivateKey(g.key)
	if err != nil {
		return nil, &plan.UsageError{Flag: "rsa-private-key-path", Msg: err.Error()}
	}
	return iperf3.NewGate(key, users, g.skew), nil
}

func runServe(ctx context.Context, r plan.ServeRequest, c serve.Config, iperf2Port int, gate gateFlags, o *serving) error {
	var err error
	if c.Gate, err = gate.open(); err != nil {
		return err
	}
	c.Output = asText
	if c.Local, c.Device, err = plan.ResolveServe(ctx, r); err != nil {
		return err
	}
	c.IPv6Only = r.V6
	s, err := serve.Open(ctx, c, o)
	if err != nil {
		return plan.OpenError(err)
	}
	ctx, o.stop = context.WithCancel(ctx)
	defer o.stop()
	if iperf2Port == 0 {
		err = s.Serve(ctx)
		return errors.Join(err, o.unprinted)
	}
	second, sockets, err := openIPerf2(ctx, c, iperf2Port, o)
	if err != nil {
		return fmt.Errorf("%w: --iperf2-port names another port for iperf 2, 0 none", err)
	}
	ended := make(chan error, 1)
	go func() {
		err := second.Serve(ctx, sockets, &iperf2Serving{s: o})
		if err != nil {
			o.stop() // no half of a server
		}
		ended <- err
	}()
	err = s.Serve(ctx)
	o.stop()
	errSecond := <-ended
	return errors.Join(err, errSecond, o.unprinted)
}

// serving shows what a server does: a line when a test begins, and its outcome.
// Where that can't be written, it stops the server.
type serving struct {
	stdio         Stdio
	json, verbose bool
	stop          context.CancelFunc

	mu        sync.Mutex // one report at a time
	unprinted error      // why the first line was not written
}

// Listening implements serve.Observer.
func (s *serving) Listening(at netip.AddrPort) {
	where := at.String()
	if at.Addr().IsUnspecified() {
		where = fmt.Sprintf("*:%d", at.Port())
	}
	s.say("waiting for tests on %s (TCP and UDP)", where)
}

// Test implements serve.Observer.
func (s *serving) Test(client netip.AddrPort, number int) session.Observer {
	return &servedTest{s, number}
}

// Done implements serve.Observer.
func (s *serving) Done(client netip.AddrPort, number int, rep *result.Report, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rep == nil {
		fmt.Fprintf(s.stdio.Err, "linerate: test %d of %s: %s\n", number, client.Addr().Unmap(), oneLine(err.Error()))
		return
	}
	for _, w := range rep.Warnings {
		fmt.Fprintf(s.stdio.Err, "linerate: test %d: warning: %s\n", number, w)
	}
	if err != nil {
		fmt.Fprintf(s.stdio.Err, "linerate: test %d of %s broke off: %s\n", number, client.Addr().Unmap(), oneLine(err.Error()))
	}
	if s.json {
		s.printed(report.JSON(s.stdio.Out, rep))
		return
	}
	options := terminal(s.stdio.Out)
	options.Verbose = s.verbose
	_, err = fmt.Fprintf(s.stdio.Out, "test %d of %s\n", number, client.Addr().Unmap())
	s.printed(err)
	s.printed(report.NewText(s.stdio.Out, options).Summary(rep))
}

// printed takes what became of printing; with s.mu held.
func (s *serving) printed(err error) {
	if err != nil && s.unprinted == nil {
		s.unprinted = err
		s.stop()
	}
}

// asText is a report as a person reads it who sees only text.
func asText(rep *result.Report) string {
	var b strings.Builder
	t := report.NewText(&b, report.Options{})
	_ = t.Header(rep) // a Builder takes all
	for i := range rep.Intervals {
		_ = t.Interval(rep, &rep.Intervals[i])
	}
	_ = t.Summary(rep)
	return b.String()
}

// say prints a line for a person.
func (s *serving) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.json {
		fmt.Fprintf(s.stdio.Err, format+"\n", args...)
		return
	}
	_, err := fmt.Fprintf(s.stdio.Out, format+"\n", args...)
	s.printed(err)
}

// servedTest shows one test of a server. Of many at once the intervals would be
// a muddle: its client prints them.
type servedTest struct {
	s      *serving
	number int
}

func (t *servedTest) Started(r *result.Report) {
	t.s.say("test %d: %s %s of %s", t.number, r.Config.Protocol, r.Config.Direction, r.Config.Destination)
}

func (t *servedTest) Interval(*result.Report, *result.Interval) {}

func (t *servedTest) Progress(string) {}

// parseMaxRate parses a rate in bits.
func parseMaxRate(s string) (uint64, error) {
	r, err := units.ParseRate(s)
	if err == nil && (r.Unit != units.Bits || r.Layer != 0 && r.Layer != units.L4) {
		err = fmt.Errorf("want bits of payload per second, as 500M")
	}
	return r.Micro / units.MicrosPerUnit, err
}

// parsePrefixes parses a list of networks or addresses.
func parsePrefixes(s string) ([]netip.Prefix, error) {
	return units.ParsePrefixes(s)
}
