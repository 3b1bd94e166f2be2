package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A ServerObserver sees the tests of a server.
type ServerObserver interface {
	Observer
	// Ended has the whole report of a test.
	Ended(*result.Report)
}

// beforeTradeBack is how long the client of -r has to get its report before the
// flow back begins, as the stock server waits.
const beforeTradeBack = 250 * time.Millisecond

// ErrReceiveOnly says that a client asked for data that is not sent to it.
var ErrReceiveOnly = errors.New("it gets none, as anybody can forge the address that it would go to")

// ServeIPerf2 serves one UDP flow of an iperf 2 client: it counts it and reports
// to the client, or sends, or both, and hands the report to o. Where the flow
// turns out to be no test there is none. The flow is closed when ServeIPerf2
// returns, up to 2.5 s after its end. The sockets belong to the calling thread's
// network namespace.
func ServeIPerf2(ctx context.Context, f *IPerf2Flow, opts IPerf2Options, o ServerObserver) error {
	defer f.Close()
	ctx, cancel := opts.bound(ctx)
	defer cancel()
	s := iperf2.ParseUDP(f.First)
	if s.Mode != iperf2.Forward && (opts.ReceiveOnly || isGroup(f.Conn.LocalAddr())) {
		return fmt.Errorf("%v asks for data over UDP: %w", f.from, ErrReceiveOnly)
	}
	t, err := newIPerf2UDP(s, directionOf(s.Mode), opts, true, o)
	if err != nil {
		return err
	}
	defer t.close()
	if s.Mode != iperf2.Reverse {
		err = t.receiveFlow(f)
	}
	if err == nil {
		switch s.Mode {
		case iperf2.Reverse, iperf2.FullDuplex:
			err = t.send(ctx, f.Conn)
		case iperf2.Dual:
			err = t.sendBack(ctx, f.from.Addr())
		}
	}
	if err != nil {
		return err
	}
	o.Started(t.rep)
	err = t.run(ctx)
	if t.in == nil {
		o.Ended(t.rep)
		return err
	}
	if !t.in.isTest() {
		return err
	}
	o.Ended(t.rep)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		t.linger(ctx)
	}()
	if err == nil && s.Mode == iperf2.Tradeoff {
		err = tradeBack(ctx, f.from.Addr(), s, opts, o)
	}
	<-answered
	return err
}

// tradeBack sends to the client of -r once its own test is over.
func tradeBack(ctx context.Context, client netip.Addr, s iperf2.Settings, opts IPerf2Options, o ServerObserver) error {
	select {
	case <-time.After(beforeTradeBack):
	case <-ctx.Done():
		return nil
	}
	t, err := newIPerf2UDP(s, reverse, opts, true, o)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.sendBack(ctx, client); err != nil {
		return err
	}
	o.Started(t.rep)
	err = t.run(ctx)
	o.Ended(t.rep)
	return err
}

// sendBack prepares to send on a flow of this end's own, to where the client of
// -d or -r listens.
func (t *iperf2UDP) sendBack(ctx context.Context, client netip.Addr) error {
	if t.settings.Port == 0 {
		return errors.New("the client wants a test back and named no port for it")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", netip.AddrPortFrom(client, uint16(t.settings.Port)).String())
	if err != nil {
		return fmt.Errorf("a flow back to the client: %w", err)
	}
	t.sockets = []*net.UDPConn{conn.(*net.UDPConn)}
	return t.send(ctx, t.sockets[0])
}

// iperf2Rate is what the stock program sends over UDP if no rate is given, in
// bit/s.
const iperf2Rate = 1 << 20

// send prepares to send on a socket as the client asked.
func (t *iperf2UDP) send(ctx context.Context, c *net.UDPConn) error {
	s := &t.settings
	to := addrPort(c.RemoteAddr())
	pattern, err := probe.ParsePattern("ramp")
	if err != nil {
		return err
	}
	r := plan.SendRequest{
		Host: to.String(), Path: "udp", Flows: 1, Window: t.opts.Window, Format: probe.IPerf2, Pattern: pattern,
		Payload: s.Size, Bytes: int64(s.Bytes), TOS: s.TOS,
		Rate: units.Rate{Unit: units.Bits, Micro: bounded(s.Rate, t.opts.MostRate) * units.MicrosPerUnit},
	}
	if r.Payload == 0 {
		r.Payload = iperf2Datagram(to.Addr())
	}
	if s.Rate == 0 {
		r.Rate.Micro = bounded(iperf2Rate, t.opts.MostRate) * units.MicrosPerUnit
	}
	if s.Bytes == 0 {
		r.Duration = time.Duration(bounded(uint64(s.Duration), uint64(t.opts.MostTime)))
	}
	p, err := plan.ResolveSend(ctx, r)
	if err != nil {
		return fmt.Errorf("send to the iperf 2 client: %w", err)
	}
	p.Config.Sockets, p.Interval = []*net.UDPConn{c}, t.opts.Interval
	t.rep.Config.PayloadBytes, t.rep.Config.RateBps = r.Payload, p.Report.RateBps
	if t.out, err = openSending(p); err != nil {
		return err
	}
	if t.in == nil || len(t.sockets) > 0 {
		t.stream(c, true)
	}
	return nil
}

// iperf2Datagram is the payload in bytes of the stock program's datagrams.
func iperf2Datagram(to netip.Addr) int {
	if to.Is6() {
		return 1450
	}
	return 1470
}

// bounded is a wish, or the bound where the wish is above it or has none itself;
// 0 is no bound.
func bounded(wish, bound uint64) uint64 {
	if bound > 0 && (wish == 0 || wish > bound) {
		return bound
	}
	return wish
}
