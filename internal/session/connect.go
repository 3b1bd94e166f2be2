package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/tcp"
)

// connect opens the control connection and tells what is asked for.
func (c *client) connect(ctx context.Context) error {
	r := &c.plan.Request
	local := netip.AddrPortFrom(c.plan.Source, 0)
	device := c.plan.Device
	if r.ControlBind != "" {
		addr, err := netip.ParseAddr(r.ControlBind)
		if err != nil {
			return &plan.UsageError{Flag: "control-bind", Msg: fmt.Sprintf("%q is no address of this host", r.ControlBind)}
		}
		local, device = netip.AddrPortFrom(addr, 0), ""
	}
	dialing, cancel := context.WithTimeout(ctx, r.ConnectPatience)
	defer cancel()
	conn, _, err := tcp.Dial(dialing, local, c.plan.Peer, tcp.Options{NoDelay: true, TOS: controlTOS, Device: device})
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if err := conn.SetKeepAliveConfig(KeepAlive); err != nil {
		return err
	}
	// What stops the test before it runs must not wait for the server's next word.
	c.begun = context.AfterFunc(ctx, func() { conn.Close() })
	if mss, err := tcp.MSS(conn); err == nil {
		c.controlMSS = mss
	}
	c.conn = iperf3.NewConn(conn)
	if err := c.introduce(); err != nil {
		return &plan.PeerError{Err: fmt.Errorf("%s: %w", c.plan.Peer, err)}
	}
	return nil
}

// unreachable words why there is no control connection.
func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = fmt.Errorf("%s does not answer within %v: is it up, and TCP port %d open?", c.plan.Peer.Addr(), c.plan.Request.ConnectPatience, c.plan.Peer.Port())
	} else {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno
		}
		err = fmt.Errorf("cannot connect to %s: %w (is linerate serve or iperf3 -s running there?)", c.plan.Peer, err)
	}
	return &plan.PeerError{Err: err}
}

// introduce says who is there and what the test is to be.
func (c *client) introduce() error {
	if err := c.conn.WriteCookie(c.cookie); err != nil {
		return controlError(err)
	}
	if err := expect(c.conn, iperf3.ParamExchange, nil); err != nil {
		return err
	}
	p := c.plan.Params
	if r := &c.plan.Request; r.Login != nil {
		login := *r.Login
		login.Time = time.Now()
		var err error
		if p.AuthToken, err = r.Key(login); err != nil {
			return err
		}
	}
	p.ClientVersion = "linerate " + c.version
	if !c.plan.Request.Stock {
		c.plan.Ask.Version, c.plan.Ask.Interval = c.version, int64(c.plan.Interval)
		extra, err := json.Marshal(&c.plan.Ask)
		if err != nil {
			return err
		}
		p.Extra = extra
	}
	if err := c.conn.WriteParams(&p); err != nil {
		return controlError(err)
	}
	c.conn.Patience = iperf3.Patience{First: messagePatience, Whole: messagePatience}
	state, err := c.conn.ReadState()
	if err != nil {
		return controlError(err)
	}
	if state == iperf3.Extra {
		c.greeting = new(iperf3.Greeting)
		if err := c.conn.ReadExtra(c.greeting); err != nil {
			return controlError(err)
		}
		return expect(c.conn, iperf3.CreateStreams, nil)
	}
	if state != iperf3.CreateStreams {
		return refusal(c.conn, state, iperf3.CreateStreams)
	}
	return nil
}

// unconnected is why a connection did not come about: what this host lacks, or else
// the peer, in words that wrap err.
func unconnected(err error, format string, args ...any) error {
	var lacks *plan.HostError
	if errors.As(plan.OpenError(err), &lacks) {
		return lacks
	}
	return &plan.PeerError{Err: fmt.Errorf(format, args...)}
}
