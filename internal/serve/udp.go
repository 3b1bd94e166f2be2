package serve

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/linux"
	"linerate/internal/tcp"
)

// listenTCP opens the socket of control and data connections.
func listenTCP(ctx context.Context, c Config) (*net.TCPListener, error) {
	l, err := tcp.Listen(ctx, c.Local, tcp.Options{Device: c.Device, IPv6Only: c.IPv6Only})
	if err != nil {
		return nil, fmt.Errorf("listen on TCP %s: %w", c.Local, err)
	}
	return l, nil
}

// A udpListener hears the first datagram of each UDP stream. The stream then gets
// a socket of its own, which takes the rest.
type udpListener struct {
	conn   *net.UDPConn
	device string

	mu      sync.Mutex
	waiting []*doorman // that expect hellos, of each client one
	closed  bool
}

// listenUDP opens the socket for hellos, on the port of the TCP socket.
func listenUDP(ctx context.Context, c Config) (*udpListener, error) {
	l := &udpListener{device: c.Device}
	network := "udp"
	switch {
	case c.Local.Addr().Is4():
		network = "udp4"
	case c.IPv6Only:
		network = "udp6"
	}
	config := net.ListenConfig{Control: l.control}
	conn, err := config.ListenPacket(ctx, network, c.Local.String())
	if err != nil {
		return nil, fmt.Errorf("listen on UDP %s: %w", c.Local, err)
	}
	l.conn = conn.(*net.UDPConn)
	return l, nil
}

func (l *udpListener) control(_, _ string, raw syscall.RawConn) error {
	if err := linux.BindToDevice(raw, l.device); err != nil {
		return err
	}
	return linux.ReuseAddress(raw)
}

// serve reads hellos until the listener is closed.
func (l *udpListener) serve(hello func(netip.AddrPort)) {
	var b [64]byte
	for {
		n, from, err := l.conn.ReadFromUDPAddrPort(b[:])
		if err != nil {
			if l.over() {
				return
			}
			continue // an ICMP error of an answer
		}
		if isHello(b[:n]) {
			hello(unmapped(from))
		}
	}
}

// isHello tells a hello from garbage and from the data of a test that is over, as
// far as that can be: some release may say four bytes that nobody knows of.
func isHello(b []byte) bool {
	return len(b) == len(iperf3.Hello) || iperf3.IsHello(b, false) || iperf3.IsHello(b, true)
}

func (l *udpListener) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *udpListener) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.conn.Close()
}

// hello gives a first datagram to the test that waits for one from there. Anything
// else is ignored: nothing is ever sent to an address that no control connection
// is with.
func (s *Server) hello(from netip.AddrPort) { s.udp.hello(from) }

func (l *udpListener) hello(from netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.waiting {
		if d.client.WithZone("") != from.Addr().WithZone("") {
			continue
		}
		if !d.greeted[from] { // or it came twice before it was answered
			d.greeted[from] = true
			d.hellos <- from // has room for as many as are expected
			if d.missing--; d.missing == 0 {
				l.remove(d)
			}
		}
		return
	}
}

// await lets a test expect the next hellos from its client; false while another
// one of that client does.
func (l *udpListener) await(d *doorman, hellos int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.waiting {
		if other.client == d.client {
			return false
		}
	}
	d.missing = hellos
	l.waiting = append(l.waiting, d)
	return true
}

// leave ends that.
func (l *udpListener) leave(d *doorman) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(d)
}

func (l *udpListener) remove(d *doorman) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *doorman) bool { return w == d })
}

// strangerPause is how long a new socket is looked at for what came to it between
// its being bound and its being connected.
const strangerPause = time.Millisecond

// claim makes the socket of a stream, from the address that its client knows, and
// answers the hello.
func (l *udpListener) claim(ctx context.Context, local, from netip.AddrPort) (*net.UDPConn, error) {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(local), Control: l.control}
	c, err := d.DialContext(ctx, "udp", from.String())
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w", from, err)
	}
	conn := c.(*net.UDPConn)
	if err := l.passOn(conn, from); err != nil {
		conn.Close()
		return nil, err
	}
	if _, err := conn.Write([]byte(iperf3.Reply)); err != nil {
		conn.Close()
		return nil, fmt.Errorf("answer %s: %w", from, err)
	}
	return conn, nil
}

// passOn hands others' hellos that strayed into a new socket to whom they are for.
func (l *udpListener) passOn(conn *net.UDPConn, own netip.AddrPort) error {
	var b [64]byte
	if err := conn.SetReadDeadline(time.Now().Add(strangerPause)); err != nil {
		return err
	}
	for {
		n, from, err := conn.ReadFromUDPAddrPort(b[:])
		if err != nil {
			return conn.SetReadDeadline(time.Time{})
		}
		if from = unmapped(from); from != own && isHello(b[:n]) {
			l.hello(from)
		}
	}
}
