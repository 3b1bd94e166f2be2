package session

import (
	"context"
	"net"
	"sync"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/result"
)

const (
	// controlTOS marks the control connection for queues on its way: CS6, network
	// control (RFC 4594, section 3.1), so that it survives the load it measures.
	controlTOS = 48 << 2
	// grace is how much longer than the test a linerate server may send.
	grace = 2 * time.Second
	// stockDrain is how long a stock server is left to read what has left here: it
	// closes its sockets at the word that the test is over.
	stockDrain = 25 * time.Millisecond
	// partingPatience is how long the end of a test that was stopped may take.
	partingPatience = 1200 * time.Millisecond
)

// client is the client of a coordinated test.
type client struct {
	plan    *plan.Test
	rep     *result.Report
	o       Observer
	version string
	cookie  iperf3.Cookie
	conn    *iperf3.Conn
	// controlMSS is the control connection's, in bytes; 0 where that is unknown.
	controlMSS int
	begun      func() bool      // keeps the connection open when the context ends; false if it was too late
	greeting   *iperf3.Greeting // nil from a stock server
	streams    streams
	trips      *net.UDPConn // of round trips; nil for none
	requests   net.Conn     // of requests beside a load; nil for none
	out, in    leg          // nil where nothing goes that way
	conduct    *conductor
	control    *control
	outbox     *outbox // nil towards a stock server
	news       news
	endOnce    sync.Once     // of TestEnd, which says that the test is over
	ended      chan struct{} // closed when the server ended the test, or was lost
	endErr     error         // nil if it then waits for the results; to be read once ended is closed
	halted     moment        // when it was stopped; not set until then
}

// Test runs a coordinated test against linerate serve or a stock iperf3 -s. A
// report comes back whenever the test began, with what was measured until an
// error ended it. The sockets belong to the calling thread's network namespace.
func Test(ctx context.Context, p *plan.Test, version string, o Observer) (*result.Report, error) {
	c := &client{plan: p, o: o, version: version, cookie: p.Cookie, ended: make(chan struct{})}
	defer c.close()
	defer context.AfterFunc(ctx, func() { c.halted.set(time.Now()) })()
	if err := c.connect(ctx); err != nil {
		return nil, c.stopped(ctx, err)
	}
	c.rep = newReport("test", version, p.Report, p.Warnings)
	c.rep.Config.ControlMSS = c.controlMSS
	c.rep.Config.Peer = "iperf3"
	if !p.Request.TCP {
		c.rep.Config.Format = c.format().String()
	}
	if c.greeting != nil {
		c.rep.Config.Peer = "linerate"
		c.rep.Warnings = append(c.rep.Warnings, c.greeting.Warnings...)
	}
	if err := c.prepare(ctx); err != nil {
		return nil, c.stopped(ctx, err)
	}
	if !c.begun() {
		return nil, ctx.Err()
	}
	err := c.settle(ctx, c.run(ctx))
	if err != nil {
		c.rep.Error = err.Error()
	}
	return c.rep, err
}

// stopped is why the test can't be: that it was stopped, if it was.
func (c *client) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stock reports whether the server is not a linerate.
func (c *client) stock() bool { return c.greeting == nil }

// lasting is how long the test sends, what is omitted included; 0 without end.
func (c *client) lasting() time.Duration {
	if d := c.plan.Duration(); d > 0 {
		return d + c.plan.Request.Omit
	}
	return 0
}

// run runs the legs until the test is over.
func (c *client) run(ctx context.Context) error {
	c.o.Started(c.rep)
	running, stop := context.WithCancel(ctx)
	defer stop()
	legs := c.legs()
	if c.in != nil {
		since(c.in, time.Now())
		if end := c.lasting(); end > 0 && (c.out == nil || !c.stock()) {
			if !c.stock() {
				end += grace // its own end markers come first
			}
			defer time.AfterFunc(end, c.end).Stop()
			// A server that has nothing to say to that does not keep the test up.
			defer time.AfterFunc(end+plan.TestDrain, func() {
				c.conduct.later(running, func() { c.conduct.stop() })
			}).Stop()
		}
	}
	c.conduct.board.parts = len(legs)
	patience := time.Duration(0)
	if !c.stock() {
		c.conduct.board.parts++
		patience = lifeless
		c.outbox = newOutbox(c.conn)
		defer context.AfterFunc(ctx, c.end)() // so that its last word comes soon
	}
	c.control = hear(c.conn, patience, func(n *iperf3.News) {
		if n.Interval != nil {
			c.news.put(*n.Interval)
			c.conduct.later(running, c.showNews)
		}
	})
	go c.attend(running)
	measured, err := c.probe()
	if err != nil {
		return err
	}
	err = c.conduct.conduct(ctx, legs...)
	if ctx.Err() != nil || err != nil {
		measured(0)
	} else {
		measured(plan.TestDrain)
	}
	return err
}

// showNews shows what the server told of intervals. They may come until the server
// says that the test is over, which may be after all legs here have ended.
func (c *client) showNews() {
	for _, iv := range c.news.take() {
		c.conduct.board.add(iv)
	}
}

// news are intervals on their way from who hears of them to who shows them.
type news struct {
	mu   sync.Mutex
	rows []result.Interval
}

func (n *news) put(iv result.Interval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = append(n.rows, iv)
}

func (n *news) take() []result.Interval {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := n.rows
	n.rows = nil
	return rows
}

// legs are the directions of the test that this end has a part in.
func (c *client) legs() []leg {
	out, in := c.out, c.in
	if in != nil && !c.stock() {
		in = patient{in}
	}
	switch {
	case in == nil:
		return []leg{out}
	case out == nil:
		return []leg{in}
	}
	if c.stock() {
		// It sends until it is told to stop, and then hears nothing more.
		out = lasting{out, c.end}
	}
	return []leg{out, turned{in}}
}

// lasting is a leg at whose end something is to happen.
type lasting struct {
	leg
	end func()
}

func (l lasting) finish() error {
	err := l.leg.finish()
	l.end()
	return err
}

// end tells the server that the test is over.
func (c *client) end() {
	c.endOnce.Do(func() {
		if c.outbox != nil {
			c.outbox.close()
		}
		_ = c.conn.WriteState(iperf3.TestEnd) // the reader finds out why it can't
	})
}

// attend ends the legs when the server has something to say that ends the test.
func (c *client) attend(ctx context.Context) {
	c.endErr = c.control.due(iperf3.ExchangeResults)
	close(c.ended)
	c.conduct.later(ctx, func() { c.conduct.stop() })
}

func (c *client) close() {
	for _, l := range []leg{c.out, c.in} {
		if l != nil {
			l.close()
		}
	}
	c.streams.close()
	if c.trips != nil {
		c.trips.Close()
	}
	if c.requests != nil {
		c.requests.Close()
	}
	if c.conduct != nil {
		c.conduct.close()
	}
	if c.outbox != nil {
		c.outbox.close()
	}
	if c.conn != nil {
		c.conn.HangUp(hangUpPatience)
	}
}
