package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/rx"
)

// streams are the data connections of a test at one end, in the order in which
// they were made: those that the client sends by first, then the server's.
type streams struct {
	udp    []*net.UDPConn
	tcp    []*net.TCPConn
	out    int  // how many of them the client sends by
	server bool // whether this end is the server
	// connect is the longest handshake of TCP.
	connect time.Duration
}

func (s *streams) close() {
	for _, c := range s.udp {
		c.Close()
	}
	for _, c := range s.tcp {
		c.Close()
	}
}

// describe is what the report says of the streams.
func (s *streams) describe() []result.Stream {
	var d []result.Stream
	add := func(i int, c net.Conn) {
		d = append(d, result.Stream{
			ID: iperf3.StreamID(i), Local: c.LocalAddr().String(), Remote: c.RemoteAddr().String(), Sender: (i < s.out) != s.server,
		})
	}
	for i, c := range s.udp {
		add(i, c)
	}
	for i, c := range s.tcp {
		add(i, c)
	}
	return d
}

// sources tell the datagrams of connections apart.
func sources(conns []*net.UDPConn) []probe.Source {
	s := make([]probe.Source, len(conns))
	for i, c := range conns {
		s[i] = rx.SocketSource(c, i)
	}
	return s
}

// dialTCP opens n data connections, each of which begins with the cookie.
func (s *streams) dialTCP(ctx context.Context, t *plan.Test, cookie iperf3.Cookie, n int) error {
	for i := range n {
		local := netip.AddrPortFrom(t.Source, 0)
		if t.Request.ClientPort != 0 {
			local = netip.AddrPortFrom(t.Source, uint16(t.Request.ClientPort+i))
		}
		conn, took, err := tcp.Dial(ctx, local, t.Peer, t.SocketOptions())
		if err != nil {
			return plan.OpenError(fmt.Errorf("stream %d: %w", iperf3.StreamID(i), err))
		}
		s.tcp = append(s.tcp, conn)
		s.connect = max(s.connect, took)
		if _, err := conn.Write(cookie[:]); err != nil {
			return fmt.Errorf("stream %d: %w", iperf3.StreamID(i), err)
		}
	}
	return nil
}

const (
	// helloPatience is how long a server may take to answer a stream's hello.
	helloPatience = 10 * time.Second
	// firstHello is when the first hello is taken for lost; each later one is given
	// twice the time of the one before.
	firstHello = 200 * time.Millisecond
	// portTries is how many ranges of ports are tried before one is free.
	portTries = 20
)

// dialUDP opens n UDP streams from consecutive ports, one by one.
func (s *streams) dialUDP(ctx context.Context, t *plan.Test, stock bool, n int) error {
	conns, err := bindUDP(ctx, t, n)
	if err != nil {
		return err
	}
	s.udp = conns
	again := []byte(iperf3.Hello)
	if stock {
		again = iperf3.PaddedHello(t.Params.Len, time.Duration(linux.Monotonic()))
	}
	for i, conn := range conns {
		if err := greet(ctx, conn, again); err != nil {
			return fmt.Errorf("stream %d: %w", iperf3.StreamID(i), err)
		}
	}
	return nil
}

// bindUDP opens connected sockets at consecutive ports.
func bindUDP(ctx context.Context, t *plan.Test, n int) ([]*net.UDPConn, error) {
	var failed error
	for range portTries {
		first := uint16(t.Request.ClientPort)
		if first == 0 {
			var err error
			if first, err = plan.FreePorts(n); err != nil {
				return nil, err
			}
		}
		var conns []*net.UDPConn
		for i := range n {
			d := net.Dialer{
				LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(t.Source, first+uint16(i))),
				Control:   func(_, _ string, raw syscall.RawConn) error { return linux.BindToDevice(raw, t.Device) },
			}
			c, err := d.DialContext(ctx, "udp", t.Peer.String())
			if err != nil {
				failed = err
				break
			}
			conns = append(conns, c.(*net.UDPConn))
		}
		if len(conns) == n {
			return conns, nil
		}
		for _, c := range conns {
			c.Close()
		}
		if t.Request.ClientPort != 0 || !errors.Is(failed, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, failed
}

// greet says hello until the server answers.
func greet(ctx context.Context, conn *net.UDPConn, again []byte) error {
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	end := time.Now().Add(helloPatience)
	hello := []byte(iperf3.Hello)
	for wait := firstHello; time.Now().Before(end); wait *= 2 {
		if _, err := conn.Write(hello); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		hello = again
		if err := conn.SetReadDeadline(earliest(time.Now().Add(wait), end)); err != nil {
			return err
		}
		if answered(conn) {
			return conn.SetReadDeadline(time.Time{})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return &plan.PeerError{Err: fmt.Errorf("no answer over UDP from %s within %v: a firewall may hold UDP back", conn.RemoteAddr(), helloPatience)}
}

// answered waits for the server's reply until the socket's deadline.
func answered(conn *net.UDPConn) bool {
	var b [64]byte
	for {
		n, err := conn.Read(b[:])
		switch {
		case err == nil && iperf3.IsReply(b[:n]):
			return true
		case errors.Is(err, syscall.ECONNREFUSED):
			time.Sleep(refusedPause) // the server may not listen yet
		case err != nil:
			return false
		}
	}
}

// refusedPause keeps a refused hello from being taken for a lost one at once.
const refusedPause = 20 * time.Millisecond

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
