package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// ServeIPerf2TCP serves one stream of an iperf 2 client, as ServeIPerf2 does a
// flow. It closes the connection.
func ServeIPerf2TCP(ctx context.Context, conn *net.TCPConn, opts IPerf2Options, o ServerObserver) error {
	defer conn.Close()
	if err := conn.SetKeepAliveConfig(KeepAlive); err != nil {
		return err
	}
	ctx, cancel := opts.bound(ctx)
	defer cancel()
	s, head, err := readHeader(conn)
	if err != nil {
		return err
	}
	if s.AcksHeader() {
		if _, err := conn.Write(iperf2.AppendAck(nil)); err != nil {
			return fmt.Errorf("answer the header: %w", err)
		}
	}
	s.Flows = 1 // each stream is served by itself
	if s.BounceBack {
		return bounceBack(ctx, conn, head, opts, o)
	}
	t, err := newIPerf2TCP(s, directionOf(s.Mode), opts, true, o)
	if err != nil {
		return err
	}
	defer t.close()
	pattern, err := probe.ParsePattern("ramp")
	if err != nil {
		return err
	}
	if s.Mode != iperf2.Reverse {
		t.receive(len(head), conn)
	}
	client := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	switch s.Mode {
	case iperf2.Reverse, iperf2.FullDuplex:
		t.send(0, pattern, conn)
	case iperf2.Dual:
		err = t.sendBack(ctx, client, pattern)
	}
	if err != nil {
		return err
	}
	t.describe(conn)
	o.Started(t.rep)
	err = t.run(ctx)
	if t.in != nil && t.out == nil {
		conn.Close() // a client counts the time until then
	}
	o.Ended(t.rep)
	if err != nil || s.Mode != iperf2.Tradeoff {
		return err
	}
	second, err := newIPerf2TCP(s, reverse, opts, true, o)
	if err != nil {
		return err
	}
	defer second.close()
	if err := second.sendBack(ctx, client, pattern); err != nil {
		return err
	}
	second.describe(second.back)
	o.Started(second.rep)
	err = second.run(ctx)
	o.Ended(second.rep)
	return err
}

// sendBack prepares to send on a stream of this end's own, to where the client of
// -d or -r listens.
func (t *iperf2TCP) sendBack(ctx context.Context, client netip.Addr, pattern probe.Pattern) error {
	if t.settings.Port == 0 {
		return errors.New("the client wants a test back and named no port for it")
	}
	conn, err := dialBack(ctx, netip.AddrPortFrom(client, uint16(t.settings.Port)), tcp.Options{Window: t.opts.Window})
	if err != nil {
		return fmt.Errorf("a stream back to the client: %w", err)
	}
	t.back = conn
	own := t.settings
	own.Mode, own.Start, own.PeerDetect = iperf2.Forward, 0, false
	header := own.AppendTCP(nil)
	if _, err := conn.Write(header); err != nil {
		return fmt.Errorf("a stream back to the client: %w", err)
	}
	t.send(len(header), pattern, conn)
	return nil
}

// dialBack connects to a client, which may begin to listen only now.
func dialBack(ctx context.Context, to netip.AddrPort, o tcp.Options) (*net.TCPConn, error) {
	for begun := time.Now(); ; {
		conn, _, err := tcp.Dial(ctx, netip.AddrPort{}, to, o)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(begun) > closePatience {
			return conn, err
		}
		time.Sleep(betweenRequests)
	}
}

// bounceBack sends each request of a client back, with the times of its arrival
// and departure in it, until the client ends the stream. head is the front of the
// first.
func bounceBack(ctx context.Context, conn *net.TCPConn, head []byte, opts IPerf2Options, o ServerObserver) error {
	t, err := newIPerf2TCP(iperf2.Settings{BounceBack: true, Flows: 1}, bidir, opts, true, o)
	if err != nil {
		return err
	}
	defer t.close()
	t.stream(false, []*net.TCPConn{conn})
	t.describe(conn)
	o.Started(t.rep)
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if err := conn.SetNoDelay(true); err != nil {
		return err
	}
	begun := time.Now()
	var bytes uint64
	for err == nil {
		var r iperf2.BounceBack
		if r, err = iperf2.ParseBounceBack(head); err != nil {
			break
		}
		b := append(head, make([]byte, r.Size-len(head))...)
		if _, err = io.ReadFull(conn, b[len(head):]); err != nil {
			break
		}
		received := wallNow()
		time.Sleep(min(r.Hold, mostHold))
		iperf2.Answer(b, received, wallNow())
		if _, err = conn.Write(b); err != nil {
			break
		}
		bytes += uint64(r.Size)
		head = make([]byte, iperf2.BounceBackSize)
		_, err = io.ReadFull(conn, head)
	}
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		err = nil
	}
	took := time.Since(begun)
	t.rep.Receiver = &result.Receiver{PayloadBytes: bytes, Seconds: took.Seconds(), Rate: tcpRate(bytes, took)}
	t.rep.Reverse = &result.Direction{Sender: &result.Sender{PayloadBytes: bytes, Seconds: took.Seconds(), Rate: tcpRate(bytes, took)}}
	if err != nil {
		t.rep.Error = err.Error()
	}
	o.Ended(t.rep)
	return err
}

// mostHold bounds how long a client may have its requests held.
const mostHold = time.Second
