package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"linerate/internal/iperf2"
	"linerate/internal/linux"
)

const (
	// settling is how long no more may come to the listener before a new flow is
	// handed over: what was under way to it when the flow got its own socket.
	settling = time.Millisecond
	// remembered is how long a flow that has ended is known: a client repeats its
	// FIN for 2 s, and no datagram of its own may begin it anew.
	remembered = 2500 * time.Millisecond
	// rescueMost bounds what is looked for in a new socket, which was open to all
	// for microseconds.
	rescueMost = 1024
	// flowsMost bounds the flows at once, as each has a socket.
	flowsMost = 1024
)

// An IPerf2Listener waits for the first datagrams of iperf 2's clients and gives
// each flow a connected socket of its own at the same port.
type IPerf2Listener struct {
	conn   *net.UDPConn
	device string
	window int
	group  bool // whose datagrams the kernel gives to this socket and to the flows'
	ready  []*IPerf2Flow
	fresh  []*IPerf2Flow // with a socket, but not settled
	queue  []received    // came to the socket of a flow that is another's

	mu    sync.Mutex
	flows map[netip.AddrPort]*IPerf2Flow // by the client's address
}

// An IPerf2Flow is one flow of a client. Its owner calls Close.
type IPerf2Flow struct {
	Conn  *net.UDPConn // connected to the client
	First []byte       // the datagram that began it

	listener *IPerf2Listener
	from     netip.AddrPort
	stray    []stray // came to the listener; guarded by its mutex
	closed   time.Time
}

// received is a datagram as the listener takes it.
type received struct {
	payload []byte
	from    netip.AddrPort
	to      netip.Addr
}

// ListenIPerf2 waits for datagrams at an address, of one interface or, where
// device is empty, of any. A group it joins, for one source if that is valid.
// window is the receive buffer in bytes of its socket and of each flow's, which
// hold what comes before a flow is counted; 0 leaves it to the kernel.
func ListenIPerf2(ctx context.Context, local netip.AddrPort, device string, source netip.Addr, window int) (*IPerf2Listener, error) {
	c := net.ListenConfig{Control: shared(device, window)}
	conn, err := c.ListenPacket(ctx, "udp", local.String())
	if err != nil {
		return nil, err
	}
	l := &IPerf2Listener{conn: conn.(*net.UDPConn), device: device, window: window, group: local.Addr().IsMulticast(), flows: map[netip.AddrPort]*IPerf2Flow{}}
	if local.Addr().Is4() {
		err = ipv4.NewPacketConn(l.conn).SetControlMessage(ipv4.FlagDst, true)
	} else {
		err = ipv6.NewPacketConn(l.conn).SetControlMessage(ipv6.FlagDst, true)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("learn the addresses that datagrams come to: %w", err)
	}
	if group := local.Addr(); group.IsMulticast() {
		if err := join(l.conn, group, device, source); err != nil {
			conn.Close()
			return nil, fmt.Errorf("join %v: %w", group, err)
		}
	}
	return l, nil
}

// join makes a socket a member of a group, for one source if that is valid.
func join(c *net.UDPConn, group netip.Addr, device string, source netip.Addr) (err error) {
	var ifi *net.Interface
	if device != "" {
		if ifi, err = net.InterfaceByName(device); err != nil {
			return err
		}
	}
	to := &net.UDPAddr{IP: group.AsSlice()}
	from := &net.UDPAddr{IP: source.AsSlice()}
	switch v4, v6 := ipv4.NewPacketConn(c), ipv6.NewPacketConn(c); {
	case group.Is4() && source.IsValid():
		return v4.JoinSourceSpecificGroup(ifi, to, from)
	case group.Is4():
		return v4.JoinGroup(ifi, to)
	case source.IsValid():
		return v6.JoinSourceSpecificGroup(ifi, to, from)
	default:
		return v6.JoinGroup(ifi, to)
	}
}

// shared prepares a socket whose address others have as well, of which the kernel
// gives a datagram to the one that is connected to its sender.
func shared(device string, window int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		return errors.Join(linux.ReuseAddress(c), linux.BindToDevice(c, device), linux.ReceiveBuffer(c, window))
	}
}

// Conn is the socket at which first datagrams arrive.
func (l *IPerf2Listener) Conn() *net.UDPConn { return l.conn }

// Close ends the listener; the flows live on.
func (l *IPerf2Listener) Close() error { return l.conn.Close() }

// Accept waits for the next flow, until ctx ends. One goroutine calls it.
func (l *IPerf2Listener) Accept(ctx context.Context) (*IPerf2Flow, error) {
	defer context.AfterFunc(ctx, func() { l.conn.SetReadDeadline(time.Unix(1, 0)) })()
	b, control := make([]byte, 1<<16), make([]byte, 256)
	for {
		for len(l.queue) > 0 {
			next := l.queue[0]
			l.queue = l.queue[1:]
			if err := l.take(ctx, next); err != nil {
				return nil, err
			}
		}
		if len(l.ready) > 0 {
			f := l.ready[0]
			l.ready = l.ready[1:]
			return f, nil
		}
		var deadline time.Time
		// A deadline may pass before what waits has been looked at.
		if len(l.fresh) > 0 && !waits(l.conn) {
			deadline = time.Now().Add(settling)
		}
		if err := l.conn.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n, nc, _, from, err := l.conn.ReadMsgUDPAddrPort(b, control)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !waits(l.conn) {
				l.ready, l.fresh = l.fresh, nil
			}
		case err != nil:
			return nil, err
		default:
			l.queue = append(l.queue, received{b[:n], unmapped(from), destination(control[:nc])})
		}
	}
}

// A FlowError is why one client gets no flow: the listener goes on.
type FlowError struct{ Err error }

func (e *FlowError) Error() string { return e.Err.Error() }

func (e *FlowError) Unwrap() error { return e.Err }

// take gives a datagram to its flow, or begins one with it.
func (l *IPerf2Listener) take(ctx context.Context, r received) error {
	if f, room := l.known(r.from); f != nil {
		if !l.group {
			f.add(r.payload)
		}
		return nil
	} else if !room || !iperf2.Opens(r.payload) {
		return nil
	}
	if r.to.IsLinkLocalUnicast() {
		r.to = r.to.WithZone(r.from.Addr().Zone())
	}
	local := netip.AddrPortFrom(r.to, l.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	f := &IPerf2Flow{First: append([]byte(nil), r.payload...), listener: l, from: r.from}
	f.add(r.payload)
	conn, err := l.dial(ctx, local, r.from, func() error { return l.before(f) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &FlowError{fmt.Errorf("a socket for %v: %w", r.from, err)}
	}
	f.Conn = conn.(*net.UDPConn)
	l.mu.Lock()
	l.flows[r.from] = f
	l.mu.Unlock()
	l.fresh = append(l.fresh, f)
	return l.rescue(f, r.to)
}

// before takes what came of any client before the flow had a socket, and gives the
// flow its own: it is older than what that socket holds.
func (l *IPerf2Listener) before(f *IPerf2Flow) error {
	b, control := make([]byte, 1<<16), make([]byte, 256)
	for i := 0; i < rescueMost && waits(l.conn); i++ {
		n, nc, _, from, err := l.conn.ReadMsgUDPAddrPort(b, control)
		if err != nil {
			return unlessLate(err)
		}
		l.queue = append(l.queue, received{append([]byte(nil), b[:n]...), unmapped(from), destination(control[:nc])})
	}
	l.queue = slices.DeleteFunc(l.queue, func(r received) bool {
		own := r.from == f.from
		if own {
			f.add(r.payload)
		}
		return own
	})
	return nil
}

// unmapped is an address without IPv4 in IPv6's clothes.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// unlessLate is an error, but for a deadline that passed.
func unlessLate(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// rescue takes what came to the socket of a flow before it was connected: until
// then the kernel gave it, and no more the listener, every client's datagrams.
func (l *IPerf2Listener) rescue(f *IPerf2Flow, to netip.Addr) error {
	b := make([]byte, 1<<16)
	for range rescueMost {
		n, from, err := receiveNow(f.Conn, b)
		if err != nil || !from.IsValid() {
			return err
		}
		switch {
		case from != f.from:
			l.queue = append(l.queue, received{append([]byte(nil), b[:n]...), from, to})
		case !l.group || !f.has(b[:n]):
			f.add(b[:n])
		}
	}
	return nil
}

// known is the flow of a client's address, and whether there is room for one
// more.
func (l *IPerf2Listener) known(from netip.AddrPort) (f *IPerf2Flow, room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.flows, func(_ netip.AddrPort, f *IPerf2Flow) bool {
		return !f.closed.IsZero() && time.Since(f.closed) > remembered
	})
	return l.flows[from], len(l.flows) < flowsMost
}

// destination is the address that a datagram was sent to.
func destination(control []byte) netip.Addr {
	var m4 ipv4.ControlMessage
	if m4.Parse(control) == nil && m4.Dst != nil {
		a, _ := netip.AddrFromSlice(m4.Dst)
		return a.Unmap()
	}
	var m6 ipv6.ControlMessage
	if m6.Parse(control) == nil && m6.Dst != nil {
		a, _ := netip.AddrFromSlice(m6.Dst)
		return a.Unmap()
	}
	return netip.Addr{}
}

// From is the client's address.
func (f *IPerf2Flow) From() netip.AddrPort { return f.from }

// Close gives the flow up. What still comes of it is ignored for a while.
func (f *IPerf2Flow) Close() error {
	f.listener.mu.Lock()
	f.closed, f.stray = time.Now(), nil
	f.listener.mu.Unlock()
	return f.Conn.Close()
}
