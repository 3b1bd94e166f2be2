package session

import (
	"context"
	"fmt"
	"net"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
	"linerate/internal/probe"
)

// prepare opens the streams and all that sends or counts, so that nothing is
// missed of the first packets.
func (c *client) prepare(ctx context.Context) error {
	r := &c.plan.Request
	n := c.plan.Streams()
	if c.streams.out = n; r.Reverse {
		c.streams.out = 0
	}
	if r.Bidir {
		n *= 2
	}
	if c.stock() {
		if err := c.limitToStock(); err != nil {
			return err
		}
	}
	dial, legs := c.streams.dialUDP, c.legsUDP
	if r.TCP {
		dial, legs = c.dialTCP, c.legsTCP
	}
	if err := dial(ctx, c.plan, c.stock(), n); err != nil {
		return err
	}
	if r.RTT > 0 {
		to, err := c.reflector("rtt")
		if err == nil {
			err = c.dialReflector(ctx, to)
		}
		if err != nil {
			return err
		}
	}
	if r.Bounce > 0 {
		to, err := c.reflector("bounce")
		if err == nil {
			c.requests, err = c.dialResponder(ctx, to)
		}
		if err != nil {
			return err
		}
	}
	// A linerate server waits until all is open here.
	if !c.stock() {
		if err := c.due(iperf3.TestStart); err != nil {
			return err
		}
	}
	err := legs(ctx)
	if err != nil {
		return err
	}
	c.rep.Streams = c.streams.describe()
	// Counts begin before the server may send.
	if c.conduct, err = newConductor(c.rep, c.o, c.role(), c.plan.IfIndex, flows(c.directions())...); err != nil {
		return err
	}
	if c.stock() {
		if err := c.due(iperf3.TestStart); err != nil {
			return err
		}
	} else if err := c.conn.WriteState(iperf3.TestStart); err != nil {
		return controlError(err)
	}
	return c.due(iperf3.TestRunning)
}

// due waits for a state before the test; a server that says something else refuses.
func (c *client) due(state iperf3.State) error {
	if err := expect(c.conn, state, nil); err != nil {
		return &plan.PeerError{Err: fmt.Errorf("%s: %w", c.plan.Peer, err)}
	}
	return nil
}

// limitToStock refuses what an iperf3 server cannot do, and tells what it leaves
// out.
func (c *client) limitToStock() error {
	r := &c.plan.Request
	refuse := func(flag, why string) error {
		return &plan.UsageError{Flag: flag, Msg: why + ": the server is a stock iperf3, run linerate serve there"}
	}
	switch {
	case len(r.IMIX.Frames) > 0:
		return refuse("imix", "its datagrams are of one size")
	case r.Verify:
		return refuse("verify", "it has no pattern")
	case r.Reverse && r.Path != "" && r.Path != "auto" && r.Path != "udp":
		return refuse("path", "it sends by ordinary sockets alone")
	case !r.Reverse && r.RX != "" && r.RX != "auto" && r.RX != "udp":
		return refuse("rx", "it counts by ordinary sockets alone")
	}
	return nil
}

// format is the payload header of the test's datagrams.
func (c *client) format() probe.Format {
	switch {
	case !c.stock():
		return probe.Native
	case c.plan.Request.Counters32:
		return probe.IPerf3
	}
	return probe.IPerf3Wide
}

func (c *client) legsUDP(ctx context.Context) error {
	out, in := c.streams.udp[:c.streams.out], c.streams.udp[c.streams.out:]
	if len(out) > 0 {
		p, err := c.plan.Sending(ctx, c.format(), localPort(out[0]))
		if err != nil {
			return err
		}
		p.Config.Sockets, p.PerFlow = out, len(p.Schedule.Sizes) == 1
		s, err := openSending(p)
		if err != nil {
			return err
		}
		c.out = s
		c.rep.Config.Path, c.rep.Config.PathReason, c.rep.Config.Burst = p.Report.Path, p.Report.PathReason, p.Report.Burst
		if err := s.describe(c.rep.Config); err != nil {
			return err
		}
		c.hearReceiver()
	}
	if len(in) > 0 {
		p, err := c.plan.Receiving(ctx, c.format(), localPort(in[0]), len(in))
		if err != nil {
			return err
		}
		p.Config.Sockets = in
		p.Streams = sources(in)
		if c.stock() {
			p.Limits.Packets = c.plan.Packets()
		}
		r, err := openReceiving(p)
		if err != nil {
			return err
		}
		c.in = r
		if len(out) == 0 {
			c.rep.Config.RX = p.Report.RX
			r.describe(c.rep.Config)
			c.hearSender()
		}
	}
	return nil
}

// hearReceiver takes from the server how it counts.
func (c *client) hearReceiver() {
	c.rep.Config.RX = ""
	if !c.stock() && c.greeting.Receive != nil {
		c.rep.Config.RX = c.greeting.Receive.RX
	}
}

// hearSender takes from the server how it sends.
func (c *client) hearSender() {
	if c.stock() || c.greeting.Send == nil {
		return
	}
	s := c.greeting.Send
	c.rep.Config.Path, c.rep.Config.PathReason, c.rep.Config.Burst = s.Path, s.PathReason, s.Burst
}

func remotePort(c *net.UDPConn) uint16 { return uint16(c.RemoteAddr().(*net.UDPAddr).Port) }

func localPort(c *net.UDPConn) uint16 { return uint16(c.LocalAddr().(*net.UDPAddr).Port) }

func (c *client) dialTCP(ctx context.Context, t *plan.Test, _ bool, n int) error {
	return c.streams.dialTCP(ctx, t, c.cookie, n)
}

func (c *client) legsTCP(context.Context) error {
	r := &c.plan.Request
	out, in := c.streams.tcp[:c.streams.out], c.streams.tcp[c.streams.out:]
	if len(out) > 0 {
		s := newTCPSending(newTCPStreams(out, c.plan.Interval, r.Omit), tcpTask{
			pattern: r.Pattern, blockLen: c.plan.Params.Len, rate: uint64(c.plan.Params.Bandwidth),
			bytes: uint64(r.Bytes), duration: c.lasting(), zeroCopy: c.plan.Params.ZeroCopy,
		})
		s.connect, s.ends = c.streams.connect, !c.stock()
		c.out = s
	}
	if len(in) > 0 {
		var verify *probe.Pattern
		if r.Verify {
			verify = &r.Pattern
		}
		streams := newTCPStreams(in, c.plan.Interval, r.Omit)
		if c.stock() {
			streams.most = uint64(r.Bytes)
		}
		c.in = newTCPReceiving(streams, verify)
	}
	return describeTCP(c.rep.Config, &c.streams)
}
