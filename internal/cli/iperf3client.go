package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/units"
)

// iperf3TCPBlock is a block of TCP where -l names none, in bytes.
const iperf3TCPBlock = 128 << 10

// test runs a client.
func (a *iperf3Args) test(ctx context.Context, stdio Stdio) error {
	out := newIPerf3Output(a, stdio)
	rep, err := a.runTest(ctx, out)
	if rep == nil {
		rep = &result.Report{}
	}
	switch {
	case ctx.Err() != nil:
		err, rep.Error = ctx.Err(), iperf3Interrupted
	case err != nil:
		rep.Error = iperf3Error(err)
	}
	if printErr := out.finish(rep); printErr != nil {
		return printErr
	}
	if err != nil {
		return &exitError{status: exitFailed}
	}
	return nil
}

// iperf3Error words an error with the beginning that scripts know.
func iperf3Error(err error) string {
	if errors.Is(err, session.ErrBusy) {
		return "the server is busy running a test. try again later"
	}
	msg := oneLine(err.Error())
	var peer *plan.PeerError
	var refused *iperf3.Error
	if errors.As(err, &peer) && !errors.As(err, &refused) {
		return "unable to connect to server: " + msg
	}
	return msg
}

func (a *iperf3Args) runTest(ctx context.Context, out *iperf3Output) (*result.Report, error) {
	r, err := a.request()
	if err != nil {
		return nil, err
	}
	p, err := plan.ResolveTest(ctx, *r)
	if err != nil {
		return nil, err
	}
	out.facts.Cookie = p.Cookie.String()
	if p.Interval = a.interval; a.interval == 0 {
		p.Interval = 24 * time.Hour // the longest: one row, at the end
	}
	if !a.json {
		if err := out.text.Program(); err != nil {
			return nil, err
		}
	}
	return session.Test(ctx, p, version(), out)
}

// request is what is asked of a coordinated test.
func (a *iperf3Args) request() (*plan.TestRequest, error) {
	host, device := a.client, a.bindDev
	if h, dev, ok := strings.Cut(a.client, "%"); ok && !strings.Contains(h, ":") {
		host, device = h, dev
	}
	name := "random" // as iperf3 does, too
	if a.repeating {
		name = "ramp"
	}
	pattern, err := probe.ParsePattern(name)
	if err != nil {
		return nil, err
	}
	r := &plan.TestRequest{
		SendRequest: plan.SendRequest{
			Host: host, Port: a.port, V4: a.v4, V6: a.v6, Iface: device, Bind: a.bind,
			Rate:  units.Rate{Unit: units.Max},
			Layer: units.L4, Duration: a.duration, Bytes: a.bytes, Flows: a.parallel, Burst: a.burst,
			Path: auto, Window: a.window, Pattern: pattern, TOS: a.tos,
		},
		TCP: !a.udp, Reverse: a.reverse, Bidir: a.bidir, RX: auto, PatternName: name,
		Omit: a.omit, MSS: a.mss, Congestion: a.congestion, NoDelay: a.noDelay, Pace: a.fqRate / 8,
		ConnectPatience: a.connectTimeout, ClientPort: a.cport, UserTimeout: a.sndTimeout,
		Extra: iperf3.Params{
			Title: a.title, ExtraData: a.extraData,
			PacingTimer: int(a.pacingTimer.Microseconds()), ZeroCopy: a.zeroCopy, Repeating: a.repeating,
			GetServerOutput: a.serverOutput,
		},
	}
	if a.rate != 0 {
		// Here a rate is of each stream, there of all.
		if r.Rate, err = units.ParseRate(fmt.Sprint(a.rate * uint64(a.parallel))); err != nil {
			return nil, err
		}
	}
	if a.udp {
		r.Payload, r.Count = a.length, uint64(a.blocks)
	} else if r.BlockLen = cmp.Or(a.length, iperf3TCPBlock); a.blocks != 0 {
		r.Bytes = a.blocks * int64(r.BlockLen)
	}
	return r, a.logIn(r)
}

// logIn adds the user's name and password, which stands in IPERF3_PASSWORD.
func (a *iperf3Args) logIn(r *plan.TestRequest) error {
	if a.username == "" {
		return nil
	}
	password, given := os.LookupEnv("IPERF3_PASSWORD")
	if !given {
		return fmt.Errorf("set IPERF3_PASSWORD to the password of %s", a.username)
	}
	key, err := iperf3.ReadPublicKey(a.publicKey)
	if err != nil {
		return err
	}
	padding := iperf3.OAEP
	if a.pkcs1 {
		padding = iperf3.PKCS1
	}
	r.Login = &iperf3.Login{User: a.username, Password: password}
	r.Key = func(login iperf3.Login) (string, error) { return iperf3.Token(login, key, padding) }
	return nil
}
