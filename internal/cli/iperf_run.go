package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/report"
	"linerate/internal/result"
	"linerate/internal/serve"
	"linerate/internal/session"
	"linerate/internal/tcp"
	"linerate/internal/units"
)

// runIPerf runs what the stock arguments ask for. As with the stock program a test
// that fails is no failure of the program; sockets and names that can't be had are.
func runIPerf(ctx context.Context, a *iperfArgs, stdio Stdio) error {
	out := &iperfOutput{err: stdio.Err, text: report.NewIPerf2(stdio.Out, report.IPerf2Options{
		Server: a.server, UDP: a.udp, Unit: a.unit, Enhanced: a.enhanced, CSV: a.csv, MSS: a.showMSS,
		Interval: a.interval, PID: os.Getpid(),
		NoSettings: a.hides("S"), NoConnections: a.hides("C"), NoData: a.hides("D"),
	})}
	var err error
	if a.server {
		err = a.serve(ctx, out)
	} else {
		err = a.test(ctx, out)
	}
	var peer *plan.PeerError
	var lookup *lookupError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &lookup):
		fmt.Fprintln(stdio.Err, err)
		return &exitError{status: exitFailed}
	case errors.As(err, &peer) && errors.Is(err, syscall.ECONNREFUSED):
		fmt.Fprintln(stdio.Err, "tcp connect failed: Connection refused")
		return nil
	case errors.As(err, &peer):
		fmt.Fprintf(stdio.Err, "WARNING: %s\n", oneLine(err.Error()))
		return nil
	}
	fmt.Fprintf(stdio.Err, "iperf: %s\n", oneLine(err.Error()))
	return &exitError{status: exitFailed}
}

// iperfOutput prints tests as the stock program does.
type iperfOutput struct {
	text *report.IPerf2
	err  io.Writer
}

func (o *iperfOutput) Started(r *result.Report) { _ = o.text.Header(r) } // a closed pipe ends the program by SIGPIPE

func (o *iperfOutput) Interval(r *result.Report, iv *result.Interval) { _ = o.text.Interval(r, iv) }

func (o *iperfOutput) Progress(string) {}

func (o *iperfOutput) Ended(r *result.Report) {
	_ = o.text.Summary(r)
	for _, w := range r.Warnings {
		fmt.Fprintf(o.err, "WARNING: %s\n", w)
	}
}

// serve runs -s.
func (a *iperfArgs) serve(ctx context.Context, out *iperfOutput) error {
	if a.ask.Duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, a.ask.Duration)
		defer stop()
	}
	local, device, err := a.local()
	if err != nil {
		return err
	}
	if !local.Addr().IsValid() {
		local = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		if a.v6 {
			local = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
		}
	}
	s := serve.IPerf2{
		IPerf2Options: a.options(), Local: netip.AddrPortFrom(local.Addr(), uint16(a.port)), Device: device,
		UDP: a.udp, TCP: !a.udp, Clients: a.ask.Flows,
		Refused: func(err error) { fmt.Fprintf(out.err, "iperf: %s\n", oneLine(err.Error())) },
	}
	if a.source != "" {
		if s.Source, err = netip.ParseAddr(a.source); err != nil {
			return fmt.Errorf("-H %s: want the address of a source", a.source)
		}
	}
	if a.once {
		s.Most = 1
	}
	sockets, err := s.Listen(ctx)
	if err != nil {
		return err
	}
	if err := out.text.Listening(a.port, sockets.Window(), a.window); err != nil {
		return err
	}
	return s.Serve(ctx, sockets, out)
}

func (a *iperfArgs) options() session.IPerf2Options {
	return session.IPerf2Options{Version: version(), Interval: a.interval, Window: a.window}
}

// local reads -B: host, port and device, each of which may be absent.
func (a *iperfArgs) local() (local netip.AddrPort, device string, err error) {
	host, device, _ := strings.Cut(a.bind, "%")
	switch addr, failed := netip.ParseAddr(host); {
	case host == "":
	case failed == nil:
		local = netip.AddrPortFrom(addr, 0)
	default:
		if local, err = netip.ParseAddrPort(host); err != nil {
			return local, "", fmt.Errorf("-B %s: want an address, with a port or %%device if need be", a.bind)
		}
	}
	return local, device, nil
}

// forever stands for -t 0.
const forever = 10 * 365 * 24 * time.Hour

// test runs -c.
func (a *iperfArgs) test(ctx context.Context, out *iperfOutput) error {
	peer, err := a.lookUp(ctx)
	if err != nil {
		return err
	}
	local, device, err := a.local()
	if err != nil {
		return err
	}
	if _, named, ok := strings.Cut(a.client, "%"); ok {
		device = named
	}
	pattern, err := probe.ParsePattern("ramp")
	if err != nil {
		return err
	}
	if a.ask.Duration == 0 && a.ask.Bytes == 0 {
		a.ask.Duration = forever
	}
	if !a.udp {
		s := a.ask
		s.Size, s.Rate, s.Duration = a.size(), a.rate.bps, min(s.Duration, iperf2.MostDuration)
		if a.tripTimes {
			s.Start = time.Duration(time.Now().UnixNano())
		}
		return session.IPerf2TCP(ctx, session.IPerf2TCPRequest{
			IPerf2Options: a.options(), Local: local, Peer: netip.AddrPortFrom(peer, uint16(a.port)), Settings: s, Pattern: pattern,
			Socket: tcp.Options{Window: a.window, MSS: a.mss, Congestion: a.control, NoDelay: a.noDelay, TOS: s.TOS, TTL: a.ttl, Device: device},
			Bare:   a.compatible,
		}, out)
	}
	flows := uint64(a.ask.Flows)
	r := plan.SendRequest{
		Host: peer.String(), Port: a.port, Path: "udp", Pattern: pattern, Flows: a.ask.Flows, Payload: a.size(),
		Duration: a.ask.Duration, Bytes: int64(a.ask.Bytes * flows), Window: a.window, TOS: a.ask.TOS, TTL: a.ttl,
		Iface: device, SrcPort: local.Port(),
		Rate: units.Rate{Unit: units.Bits, Micro: a.rate.bps * flows * units.MicrosPerUnit},
	}
	if a.rate.pps > 0 {
		r.Rate = units.Rate{Unit: units.Packets, Micro: a.rate.pps * flows * units.MicrosPerUnit}
	}
	if local.Addr().IsValid() {
		r.Bind = local.Addr().String()
	}
	return session.IPerf2(ctx, session.IPerf2Request{
		IPerf2Options: a.options(), Send: r, Mode: a.ask.Mode, Back: a.ask.Port,
		Times: a.tripTimes, NoFIN: a.ask.NoFIN, Bare: a.compatible,
	}, out)
}

// A lookupError says in the stock program's words that the host of -c is not known.
type lookupError struct{ host string }

func (e *lookupError) Error() string { return e.host + ": Host name lookup failure" }

// lookUp resolves the host of -c, without its device.
func (a *iperfArgs) lookUp(ctx context.Context) (netip.Addr, error) {
	host, _, _ := strings.Cut(a.client, "%")
	network := "ip4"
	if a.v6 {
		network = "ip6"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if err != nil || len(addrs) == 0 {
		return netip.Addr{}, &lookupError{host}
	}
	return addrs[0].Unmap(), nil
}
