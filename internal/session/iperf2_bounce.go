package session

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"linerate/internal/echo"
	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// IPerf2Bounce times requests and their answers over TCP, one at a time, with a server
// of iperf 2 (its --bounceback). A report comes back whenever the test began. The
// sockets belong to the calling thread's network namespace.
func IPerf2Bounce(ctx context.Context, p *plan.Test, version string, o Observer) (*result.Report, error) {
	options := p.SocketOptions()
	options.NoDelay = true
	dialing, cancel := context.WithTimeout(ctx, p.Request.ConnectPatience)
	defer cancel()
	conn, _, err := tcp.Dial(dialing, netip.AddrPortFrom(p.Source, 0), p.Peer, options)
	if err != nil {
		return nil, unconnected(err, "cannot connect to %s: %w (is iperf -s running there?)", p.Peer, err)
	}
	defer conn.Close()
	rep := newReport("test", version, p.Report, p.Warnings)
	rep.Config.Peer = "iperf2"
	o.Started(rep)
	running, stop := context.WithCancel(ctx)
	defer stop()
	if d := p.Duration(); d > 0 {
		running, stop = context.WithTimeout(ctx, d)
		defer stop()
	}
	r := &result.Bounces{PayloadBytes: p.Request.Bounce}
	rep.BounceNS = r
	all, begun := echo.NewTimes(), time.Now()
	err = bounceIPerf2(running, conn, p, all)
	r.Tried, r.Times = all.N(), times(all, p.Request.Histogram)
	r.PerSecond = float64(r.Tried) / time.Since(begun).Seconds()
	if conn.CloseWrite() == nil {
		awaitClose(ctx, []*net.TCPConn{conn}) // so that the server has its report, too
	}
	if err != nil {
		err = &plan.PeerError{Err: fmt.Errorf("request %d to %s: %w", r.Tried+1, p.Peer, err)}
		rep.Error = err.Error()
	}
	return rep, err
}

// bounceIPerf2 makes transactions until ctx ends or there are enough.
func bounceIPerf2(ctx context.Context, conn net.Conn, p *plan.Test, all *echo.Times) error {
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	b := make([]byte, p.Request.Bounce)
	for most := p.Request.Count; ctx.Err() == nil && (most == 0 || all.N() < most); {
		request := iperf2.BounceBack{Size: len(b), ID: uint32(all.N() + 1), Sent: wallNow()}
		request.Put(b)
		begun := linux.Monotonic()
		_, err := conn.Write(b)
		if err == nil {
			_, err = io.ReadFull(conn, b)
		}
		if ctx.Err() != nil {
			return nil // this one was cut short
		}
		if err != nil {
			return err
		}
		took := linux.Monotonic() - begun
		if answer, err := iperf2.ParseBounceBack(b); err != nil || answer.ID != request.ID {
			return fmt.Errorf("what came is no answer to it: is it a server of iperf 2.1 or later?")
		}
		all.Record(took)
	}
	return nil
}
