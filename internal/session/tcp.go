package session

import (
	"context"
	"errors"
	"net"
	"time"

	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// ackPatience is how long the last bytes of a stream may take to be acknowledged.
const ackPatience = time.Second

// SendTCP sends streams to whoever takes them. The report has the bytes that the
// peer's TCP acknowledged in place of what a receiver counted. The sockets belong
// to the calling thread's network namespace.
func SendTCP(ctx context.Context, p *plan.StreamPlan, version string, o Observer) (*result.Report, error) {
	var s streams
	defer s.close()
	dialing, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	for range p.Streams {
		conn, took, err := tcp.Dial(dialing, p.Local, p.Remote, p.Options)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, unconnected(err, "cannot connect to %s: %w (is linerate recv --tcp, or any sink, listening there?)", p.Remote, err)
		}
		s.tcp = append(s.tcp, conn)
		s.connect = max(s.connect, took)
	}
	s.out = len(s.tcp)
	rep := newReport("send", version, p.Report, nil)
	rep.Streams = s.describe()
	if err := describeTCP(rep.Config, &s); err != nil {
		return nil, err
	}
	out := newTCPSending(newTCPStreams(s.tcp, p.Interval, 0), tcpTask{
		pattern: p.Pattern, blockLen: p.BlockLen, rate: p.Rate, bytes: p.Bytes, duration: p.Duration,
	})
	out.connect, out.ends = s.connect, true
	c, err := newConductor(rep, o, "sender", p.IfIndex)
	if err != nil {
		return nil, err
	}
	defer c.close()
	o.Started(rep)
	err = c.conduct(ctx, out)
	c.board.end()
	rep.Sender = out.sent()
	rep.Receiver = acknowledged(s.tcp, rep.Sender)
	rep.Hosts = []result.Host{*c.host()}
	way := &result.Direction{Sender: rep.Sender, Receiver: rep.Receiver}
	rep.Limit, _ = c.judge(way, &rep.Hosts[0], nil) // it has no packets to account for
	c.disturbed(way, &rep.Hosts[0], nil)
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}

// acknowledged is what the peer's TCP says that it has; nil where the system does
// not tell. It waits a while for the rest.
func acknowledged(conns []*net.TCPConn, sent *result.Sender) *result.Receiver {
	for end := time.Now().Add(ackPatience); ; time.Sleep(limitPause) {
		r := &result.Receiver{Source: "acked", Seconds: sent.Seconds}
		for _, conn := range conns {
			info, err := tcp.ReadInfo(conn)
			if err != nil || info.BytesAcked == nil {
				return nil
			}
			r.PayloadBytes += *info.BytesAcked
		}
		r.PayloadBytes = min(r.PayloadBytes, sent.PayloadBytes) // SYN and FIN count as bytes, too
		if r.PayloadBytes == sent.PayloadBytes || time.Now().After(end) {
			r.Rate = tcpRate(r.PayloadBytes, time.Duration(r.Seconds*1e9))
			return r
		}
	}
}

// ReceiveTCP counts streams from whoever connects, as many as are planned, until
// all have ended. The sockets belong to the calling thread's network namespace.
func ReceiveTCP(ctx context.Context, p *plan.StreamPlan, version string, o Observer) (*result.Report, error) {
	l, err := tcp.Listen(ctx, p.Local, p.Options)
	if err != nil {
		return nil, plan.OpenError(err)
	}
	defer l.Close()
	rep := newReport("recv", version, p.Report, nil)
	c, err := newConductor(rep, o, "receiver", p.IfIndex)
	if err != nil {
		return nil, err
	}
	defer c.close()
	o.Started(rep)
	var s streams
	defer s.close()
	if err := s.acceptTCP(ctx, l, p); err != nil || len(s.tcp) == 0 {
		return nothingCame(rep, err)
	}
	rep.Streams = s.describe()
	if err := describeTCP(rep.Config, &s); err != nil {
		return nil, err
	}
	var verify *probe.Pattern
	if p.Verify {
		verify = &p.Pattern
	}
	in := newTCPReceiving(newTCPStreams(s.tcp, p.Interval, 0), verify)
	if p.Duration > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, p.Duration)
		defer over()
	}
	err = c.conduct(ctx, in)
	c.board.end()
	rep.Receiver = in.received()
	rep.Hosts = []result.Host{*c.host()}
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}

// acceptTCP waits for streams; those that came by the time that ctx ended are all
// that there will be.
func (s *streams) acceptTCP(ctx context.Context, l *net.TCPListener, p *plan.StreamPlan) error {
	defer context.AfterFunc(ctx, func() { l.SetDeadline(time.Now()) })()
	if p.Duration > 0 {
		if err := l.SetDeadline(time.Now().Add(p.Duration)); err != nil {
			return err
		}
	}
	for len(s.tcp) < p.Streams {
		conn, err := l.AcceptTCP()
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return nil
		case err != nil:
			return err
		}
		s.tcp = append(s.tcp, conn)
		if err := tcp.Apply(conn, p.Options); err != nil {
			return err
		}
	}
	return nil
}

// nothingCame is the report of a receiver to which nobody connected.
func nothingCame(rep *result.Report, err error) (*result.Report, error) {
	rep.Receiver = &result.Receiver{}
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}
