package session

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"linerate/internal/echo"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// Connect times TCP handshakes, one after another, with whatever listens at the
// peer. A report comes back in any case. The sockets belong to the calling thread's
// network namespace.
func Connect(ctx context.Context, p *plan.Test, version string, o Observer) (*result.Report, error) {
	rep := newReport("test", version, p.Report, p.Warnings)
	o.Started(rep)
	c := &result.Connects{}
	rep.ConnectNS = c
	all := echo.NewTimes()
	var failed error
	for c.Tried < p.Request.Count {
		took, err := connect(ctx, p)
		if ctx.Err() != nil {
			break // this one says nothing of the peer
		}
		if c.Tried++; err != nil {
			c.Failed++
			failed = err
		} else {
			all.Record(took)
		}
		o.Progress(fmt.Sprintf("connecting: %d of %d", c.Tried, p.Request.Count))
	}
	c.Times = times(all, p.Request.Histogram)
	switch {
	case failed == nil:
		return rep, nil
	case c.Times == nil:
		err := &plan.PeerError{Err: fmt.Errorf("no TCP connection to %s: %w", p.Peer, failed)}
		rep.Error = err.Error()
		return rep, err
	}
	rep.Warnings = append(rep.Warnings, fmt.Sprintf("%d of %d handshakes failed, the last one so: %v", c.Failed, c.Tried, failed))
	return rep, nil
}

// connect makes one connection and returns how many ns the handshake took.
func connect(ctx context.Context, p *plan.Test) (int64, error) {
	dialing, cancel := context.WithTimeout(ctx, p.Request.ConnectPatience)
	defer cancel()
	conn, took, err := tcp.Dial(dialing, netip.AddrPortFrom(p.Source, 0), p.Peer, p.SocketOptions())
	if err != nil {
		return 0, err
	}
	// With a reset no port is left waiting: thousands may follow.
	return int64(took), errors.Join(conn.SetLinger(0), conn.Close())
}
