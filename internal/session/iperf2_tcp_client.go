package session

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/tcp"
)

// An IPerf2TCPRequest asks for a test over TCP against a server of iperf 2.
type IPerf2TCPRequest struct {
	IPerf2Options
	Local, Peer netip.AddrPort // Local may leave address or port, or both, to the kernel
	Socket      tcp.Options
	// Settings are what the server is told; Size and Rate are those of each of the
	// Flows at this end, too.
	Settings iperf2.Settings
	Pattern  probe.Pattern
	Patience time.Duration // of connecting; 0 for the kernel's
	// Bare sends no header, for servers that want none; only forward.
	Bare bool
}

// IPerf2TCP runs a test over TCP against a server of iperf 2, as IPerf2 does over
// UDP. The server tells nothing of what it received.
func IPerf2TCP(ctx context.Context, q IPerf2TCPRequest, o ServerObserver) error {
	q.Window = q.Socket.Window
	s := q.Settings
	s.Flows = max(s.Flows, 1)
	t, err := newIPerf2TCP(s, directionOf(s.Mode), q.IPerf2Options, false, o)
	if err != nil {
		return err
	}
	defer t.close()
	c := t.rep.Config
	c.Destination = q.Peer.String()
	c.RateBps *= float64(s.Flows)
	var back *net.TCPListener
	if s.Mode.Back() {
		if back, err = listenBack(ctx, q); err != nil {
			return err
		}
		defer back.Close()
	}
	conns, head, err := q.dial(ctx, t, s)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return err
	}
	if s.Mode != iperf2.Reverse {
		t.send(head, q.Pattern, conns...)
	}
	switch s.Mode {
	case iperf2.Reverse:
		t.receive(0, conns...)
	case iperf2.FullDuplex:
		streams := t.rep.Streams
		t.receive(0, conns...)
		t.rep.Streams = streams
	case iperf2.Dual:
		accepted, head, err := acceptStreams(ctx, back, s.Flows)
		defer func() {
			for _, c := range accepted {
				c.Close()
			}
		}()
		if err != nil {
			return err
		}
		t.receive(head, accepted...)
	}
	t.describe(conns[0])
	o.Started(t.rep)
	err = t.run(ctx)
	o.Ended(t.rep)
	if err != nil || s.Mode != iperf2.Tradeoff {
		return err
	}
	second, err := newIPerf2TCP(s, reverse, q.IPerf2Options, false, o)
	if err != nil {
		return err
	}
	defer second.close()
	second.rep.Config.Destination = q.Peer.String()
	accepted, head, err := acceptStreams(ctx, back, s.Flows)
	defer func() {
		for _, c := range accepted {
			c.Close()
		}
	}()
	if err != nil {
		return err
	}
	second.receive(head, accepted...)
	second.describe(accepted[0])
	o.Started(second.rep)
	err = second.run(ctx)
	o.Ended(second.rep)
	return err
}

// dial opens the streams and sends on each the header, whose length it returns.
func (q *IPerf2TCPRequest) dial(ctx context.Context, t *iperf2TCP, s iperf2.Settings) (conns []*net.TCPConn, head int, err error) {
	var header []byte
	if !q.Bare {
		header = s.AppendTCP(nil)
	}
	if q.Patience > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, q.Patience)
		defer stop()
	}
	var longest time.Duration
	for i := range s.Flows {
		local := q.Local
		if local.Port() != 0 {
			local = netip.AddrPortFrom(local.Addr(), local.Port()+uint16(i))
		}
		c, took, err := tcp.Dial(ctx, local, q.Peer, q.Socket)
		if err != nil {
			return conns, 0, unconnected(err, "cannot connect to %s: %w (is iperf -s running there?)", q.Peer, err)
		}
		conns = append(conns, c)
		longest = max(longest, took)
		if _, err := c.Write(header); err != nil {
			return conns, 0, &plan.PeerError{Err: fmt.Errorf("announce the test: %w", err)}
		}
		if s.PeerDetect {
			if _, err := readAck(c); err != nil {
				return conns, 0, &plan.PeerError{Err: err}
			}
		}
	}
	return conns, len(header), nil
}

// listenBack waits where the server shall connect to.
func listenBack(ctx context.Context, q IPerf2TCPRequest) (*net.TCPListener, error) {
	any := netip.IPv6Unspecified()
	if q.Peer.Addr().Unmap().Is4() {
		any = netip.IPv4Unspecified()
	}
	l, err := tcp.Listen(ctx, netip.AddrPortFrom(any, uint16(q.Settings.Port)), q.Socket)
	if err != nil {
		return nil, &plan.HostError{Err: fmt.Errorf("wait for the server's streams: %w", err)}
	}
	return l, nil
}

// acceptStreams waits for the streams that the server opens, and reads their
// headers, whose bytes it returns.
func acceptStreams(ctx context.Context, l *net.TCPListener, n int) (conns []*net.TCPConn, head int, err error) {
	defer context.AfterFunc(ctx, func() { l.SetDeadline(time.Unix(1, 0)) })()
	if err := l.SetDeadline(time.Now().Add(patienceForBack)); err != nil {
		return nil, 0, err
	}
	for range n {
		c, err := l.AcceptTCP()
		if err != nil {
			return conns, 0, &plan.PeerError{Err: fmt.Errorf("the server opened no stream to %v here within %v: is the port reachable from it?", l.Addr(), patienceForBack)}
		}
		conns = append(conns, c)
		s, b, err := readHeader(c)
		if err != nil {
			return conns, 0, err
		}
		if s.AcksHeader() {
			if _, err := c.Write(iperf2.AppendAck(nil)); err != nil {
				return conns, 0, err
			}
		}
		head += len(b)
	}
	return conns, head, nil
}
