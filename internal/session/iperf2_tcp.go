package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

const (
	// headerPatience is how long a client may take over its header, and a server
	// over its ack.
	headerPatience = 4 * time.Second
	// closePatience is how long the other end may take to close its half.
	closePatience = 2 * time.Second
)

// An iperf2TCP is an end of a test over TCP, with a leg one way or both. The
// header at the front of each stream is payload, too.
type iperf2TCP struct {
	*conductor
	settings iperf2.Settings
	opts     IPerf2Options
	server   bool

	in      *tcpReceiving // nil where nothing comes
	out     *tcpSending   // nil where nothing leaves
	inHead  uint64        // bytes of headers that came before in began
	outHead uint64        // that left before out began
	back    *net.TCPConn  // that this end opened to send on; nil for none
}

// newIPerf2TCP prepares the report of a test.
func newIPerf2TCP(s iperf2.Settings, direction string, opts IPerf2Options, server bool, o Observer) (*iperf2TCP, error) {
	command := "test"
	if server {
		command = "serve"
	}
	rep := newReport(command, opts.Version, result.Config{
		Protocol: "tcp", Peer: "iperf2", Direction: direction, Flows: max(s.Flows, 1), PayloadBytes: s.Size,
		TOS: int(s.TOS), DurationS: s.Duration.Seconds(), Bytes: int64(s.Bytes), RateBps: float64(s.Rate),
	}, nil)
	c, err := newConductor(rep, o, iperf2Role(direction, server), opts.IfIndex)
	if err != nil {
		return nil, err
	}
	return &iperf2TCP{conductor: c, settings: s, opts: opts, server: server}, nil
}

// receive prepares to count what comes, behind so many bytes that were read.
func (t *iperf2TCP) receive(head int, conns ...*net.TCPConn) {
	t.in = newTCPReceiving(newTCPStreams(conns, t.opts.Interval, 0), nil)
	t.inHead = uint64(head)
	t.stream(false, conns)
}

// send prepares to send as the settings say, behind so many bytes that were sent
// on each stream.
func (t *iperf2TCP) send(head int, pattern probe.Pattern, conns ...*net.TCPConn) {
	s := &t.settings
	task := tcpTask{pattern: pattern, blockLen: s.Size, rate: bounded(s.Rate, t.opts.MostRate)}
	if n := uint64(len(conns)); s.Bytes > 0 {
		task.bytes = max(s.Bytes, uint64(head)+1)*n - uint64(head)*n
	} else {
		task.duration = time.Duration(bounded(uint64(s.Duration), uint64(t.opts.MostTime)))
	}
	t.out = newTCPSending(newTCPStreams(conns, t.opts.Interval, 0), task)
	t.out.ends = true
	t.outHead = uint64(head * len(conns))
	if t.in == nil || t.back != nil {
		t.stream(true, conns)
	}
}

// stream adds sockets to the report.
func (t *iperf2TCP) stream(sends bool, conns []*net.TCPConn) {
	for _, c := range conns {
		t.rep.Streams = append(t.rep.Streams, result.Stream{
			ID: len(t.rep.Streams) + 1, Local: tcpAddr(c.LocalAddr()), Remote: tcpAddr(c.RemoteAddr()), Sender: sends,
		})
	}
}

// tcpAddr prints an address, without IPv4 in IPv6's clothes.
func tcpAddr(a net.Addr) string {
	p := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()).String()
}

// describe adds to the report what the kernel gave a connection.
func (t *iperf2TCP) describe(c *net.TCPConn) {
	t.rep.Config.WindowAsked = t.opts.Window
	if send, receive, err := tcp.Window(c); err == nil {
		t.rep.Config.WindowGot = send / kernelDoubles
		if t.in != nil && t.out == nil {
			t.rep.Config.WindowGot = receive / kernelDoubles
		}
	}
	if mss, err := tcp.MSS(c); err == nil {
		t.rep.Config.MSS = mss
	}
	if name, err := tcp.Congestion(c); err == nil {
		t.rep.Config.Congestion = name
	}
}

// run conducts what was prepared, and settles the accounts.
func (t *iperf2TCP) run(ctx context.Context) error {
	var in, out leg
	if t.in != nil {
		in = &headedLeg{leg: t.in, bytes: t.inHead}
	}
	if t.out != nil {
		out = &headedLeg{leg: t.out, bytes: t.outHead}
	}
	legs, inAt, outAt := bothWays(in, out, t.server)
	t.board.parts = len(legs)
	err := t.conduct(ctx, legs...)
	t.board.end()
	var ways [2]result.Direction
	if t.in != nil {
		r := t.in.received()
		headed(&r.PayloadBytes, &r.Rate, t.inHead, r.Seconds)
		for i := range r.Flows {
			headed(&r.Flows[i].PayloadBytes, &r.Flows[i].Rate, t.inHead/uint64(len(r.Flows)), r.Flows[i].Seconds)
		}
		ways[inAt].Receiver = r
	}
	if t.out != nil {
		s := t.out.sent()
		headed(&s.PayloadBytes, &s.Rate, t.outHead, s.Seconds)
		for i := range s.Flows {
			headed(&s.Flows[i].PayloadBytes, &s.Flows[i].Rate, t.outHead/uint64(len(s.Flows)), s.Flows[i].Seconds)
		}
		ways[outAt].Sender = s
		awaitClose(ctx, t.out.conns)
		if !t.server {
			ways[outAt].Receiver = acknowledged(t.out.conns, s)
		}
	}
	return t.file(&ways, len(legs), t.host(), err)
}

// headed adds a header to an account.
func headed(bytes *uint64, rate **result.Rate, head uint64, seconds float64) {
	*bytes += head
	*rate = tcpRate(*bytes, time.Duration(seconds*float64(time.Second)))
}

// awaitClose reads what still comes on streams that this end has closed its half
// of, such as acks, until the other end closes its own.
func awaitClose(ctx context.Context, conns []*net.TCPConn) {
	until := time.Now().Add(closePatience)
	for _, c := range conns {
		stop := context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })
		if c.SetReadDeadline(until) == nil {
			_, _ = io.Copy(io.Discard, c) // whatever ends it, the stream is over
		}
		stop()
	}
}

func (t *iperf2TCP) close() {
	t.conductor.close()
	if t.back != nil {
		t.back.Close()
	}
}

// headedLeg is a leg whose first interval has the headers of its streams as well.
type headedLeg struct {
	leg
	bytes uint64
}

func (h *headedLeg) run(ctx context.Context, show func(result.Interval)) error {
	return h.leg.run(ctx, func(iv result.Interval) {
		if iv.Sender != nil {
			iv.Sender.PayloadBytes += h.bytes
		}
		if iv.Receiver != nil {
			iv.Receiver.PayloadBytes += h.bytes
		}
		h.bytes = 0
		show(iv)
	})
}

// ErrNoIPerf2 says that a stream began as none of iperf 2 does, or that its header
// did not come.
var ErrNoIPerf2 = errors.New("no test of iperf 2")

// readHeader reads what a client asks for. head is what that took.
func readHeader(conn *net.TCPConn) (s iperf2.Settings, head []byte, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(headerPatience)); err != nil {
		return s, nil, err
	}
	var first [4]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return s, nil, fmt.Errorf("%w from %v: no header within %v: %w", ErrNoIPerf2, conn.RemoteAddr(), headerPatience, err)
	}
	n, err := iperf2.HeaderLength(first)
	if err != nil {
		return s, nil, fmt.Errorf("%w from %v: %w", ErrNoIPerf2, conn.RemoteAddr(), err)
	}
	head = append(first[:], make([]byte, max(n-len(first), 0))...)
	if _, err := io.ReadFull(conn, head[len(first):]); err != nil {
		return s, nil, fmt.Errorf("%w from %v: half a header: %w", ErrNoIPerf2, conn.RemoteAddr(), err)
	}
	if n > 0 {
		s = iperf2.ParseTCP(head)
	}
	return s, head, conn.SetReadDeadline(time.Time{})
}

// readAck waits for a server's ack and returns its release.
func readAck(conn *net.TCPConn) (string, error) {
	if err := conn.SetReadDeadline(time.Now().Add(headerPatience)); err != nil {
		return "", err
	}
	var first [8]byte
	_, err := io.ReadFull(conn, first[:])
	if err != nil {
		return "", fmt.Errorf("the server does not tell its version (-X): %w", err)
	}
	n, err := iperf2.AckLength(first)
	if err != nil {
		return "", err
	}
	b := append(first[:], make([]byte, n-len(first))...)
	_, err = io.ReadFull(conn, b[len(first):])
	return iperf2.ParseAck(b), errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

// wallNow is the wall time since 1970.
func wallNow() time.Duration { return time.Duration(linux.Monotonic() + linux.WallOffset()) }
