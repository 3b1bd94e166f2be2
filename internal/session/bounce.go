package session

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/echo"
	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// Bounce times requests and their answers, one at a time, with linerate serve. A
// report comes back whenever the test began. The sockets belong to the calling
// thread's network namespace.
func Bounce(ctx context.Context, p *plan.Test, version string, o Observer) (*result.Report, error) {
	c := &client{plan: p, o: o, version: version, cookie: p.Cookie}
	defer c.close()
	if err := c.connect(ctx); err != nil {
		return nil, c.stopped(ctx, err)
	}
	to, err := c.reflector("bounce")
	if err != nil {
		return nil, c.stopped(ctx, err)
	}
	conn, err := c.dialResponder(ctx, to)
	if err != nil {
		return nil, c.stopped(ctx, err)
	}
	defer conn.Close()
	if !c.begun() {
		return nil, ctx.Err()
	}
	c.rep = newReport("test", version, p.Report, append(p.Warnings, c.greeting.Warnings...))
	c.rep.Config.Peer = "linerate"
	o.Started(c.rep)
	if err := c.bounce(ctx, conn); err != nil {
		c.rep.Error = err.Error()
		return c.rep, err
	}
	return c.rep, nil
}

// dialResponder opens the connection that requests go by.
func (c *client) dialResponder(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if !c.plan.Request.TCP {
		err := c.dialReflector(ctx, to)
		return c.trips, err
	}
	options := c.plan.SocketOptions()
	options.NoDelay = true // or a request would wait for the acknowledgement of the one before
	conn, _, err := tcp.Dial(ctx, netip.AddrPortFrom(c.plan.Source, 0), to, options)
	if err != nil {
		return nil, unconnected(err, "TCP port %d of the server, where it answers requests: %w (a firewall may hold it back)", to.Port(), err)
	}
	return conn, nil
}

// bounce makes transactions until the test is over, and adds them to the report.
func (c *client) bounce(ctx context.Context, conn net.Conn) error {
	b, err := echo.NewBouncer(conn, c.plan.Request.Bounce, c.plan.Ask.Reflect)
	if err != nil {
		return err
	}
	c.outbox = newOutbox(c.conn)
	running, stop := context.WithCancel(ctx)
	defer stop()
	if d := c.plan.Duration(); d > 0 {
		running, stop = context.WithTimeout(ctx, d)
		defer stop()
	}
	// The server has nothing to say but that it ends the test.
	c.control = hear(c.conn, 0, func(*iperf3.News) {})
	said := make(chan error, 1)
	go func() {
		said <- c.control.due(iperf3.TestEnd)
		stop()
	}()
	begun := time.Now()
	a, err := b.Run(running, c.plan.Request.Count)
	r := c.bounced(a, time.Since(begun))
	select {
	case word := <-said:
		return word
	default:
	}
	c.outbox.send(iperf3.News{Bounces: r})
	c.end()
	if err == nil && a.Sent > 0 && a.Lost == a.Sent {
		c.rep.Warnings = append(c.rep.Warnings, noneBack(c.greeting.Reflector))
	}
	return err
}

// bounced adds to the report what became of requests, and returns it.
func (c *client) bounced(a echo.Account, took time.Duration) *result.Bounces {
	r := &result.Bounces{
		PayloadBytes: c.plan.Request.Bounce, Tried: a.Sent, Lost: a.Lost, Times: times(a.Times, c.plan.Request.Histogram),
		PerSecond: float64(a.Times.N()) / took.Seconds(),
	}
	c.rep.BounceNS = r
	return r
}

// bounceBeside makes transactions beside a load, as probe sends probes.
func (c *client) bounceBeside() (finish func(patience time.Duration), err error) {
	b, err := echo.NewBouncer(c.requests, c.plan.Request.Bounce, c.plan.Ask.Reflect)
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	var a echo.Account
	var failed error
	done := make(chan struct{})
	begun := time.Now().Add(c.plan.Request.Omit)
	go func() {
		defer close(done)
		select {
		case <-time.After(time.Until(begun)):
			a, failed = b.Run(running, 0)
		case <-running.Done():
		}
	}()
	return func(time.Duration) {
		took := time.Since(begun)
		stop()
		<-done
		if a.Times == nil {
			return // the test ended before they began
		}
		c.bounced(a, took)
		if failed != nil {
			c.rep.Warnings = append(c.rep.Warnings, fmt.Sprintf("the requests beside the load ended early: %v", failed))
		}
		if a.Sent > 0 && a.Lost == a.Sent {
			c.rep.Warnings = append(c.rep.Warnings, noneBack(c.greeting.Reflector))
		}
	}, nil
}

// noneBack says why nothing may have come back from a port of the server.
func noneBack(port int) string {
	return fmt.Sprintf("nothing came back from UDP port %d of the server: a firewall may hold it back", port)
}
