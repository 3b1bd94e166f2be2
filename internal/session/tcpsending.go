package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// tcpStreams is what the TCP streams of one direction have in common at either
// end.
type tcpStreams struct {
	conns    []*net.TCPConn
	interval time.Duration
	omit     time.Duration
	most     uint64 // bytes that end a receiver; 0 for no limit
	opened   time.Time
	begun    time.Time // work's own
	ended    time.Time // when the last byte of the test passed

	last    []uint64 // bytes of each stream at the end of the last interval
	lastAt  time.Duration
	omitted []uint64 // bytes of each stream that no total holds
}

func newTCPStreams(conns []*net.TCPConn, interval, omit time.Duration) tcpStreams {
	return tcpStreams{
		conns: conns, interval: interval, omit: omit, opened: time.Now(),
		last: make([]uint64, len(conns)), omitted: make([]uint64, len(conns)),
	}
}

// work runs a function on each stream and calls tick at each interval's end and
// when all have returned. Why the first failed is the error.
func (s *tcpStreams) work(run func(i int) error, tick func(at time.Duration, omitted bool)) error {
	s.begun = time.Now()
	errs := make([]error, len(s.conns))
	var all sync.WaitGroup
	for i := range s.conns {
		all.Go(func() { errs[i] = run(i) })
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	ticks := newTicks(s.begun, s.interval, s.omit)
	defer ticks.stop()
	for {
		select {
		case <-done:
			s.ended = time.Now()
			tick(s.ended.Sub(s.begun), false)
			return errors.Join(errs...)
		case <-ticks.C:
			at, omitted := ticks.next()
			tick(at, omitted)
			if ticks.restarted() {
				copy(s.omitted, s.last)
				s.begun, s.lastAt = ticks.begun, 0
			}
		}
	}
}

// since are the bytes of each stream in the interval that ends, and its length.
func (s *tcpStreams) since(at time.Duration, now func(i int) uint64) (bytes []uint64, sum uint64, length time.Duration) {
	bytes = make([]uint64, len(s.conns))
	for i := range s.conns {
		n := now(i)
		bytes[i] = n - s.last[i]
		s.last[i] = n
		sum += bytes[i]
	}
	length = at - s.lastAt
	s.lastAt = at
	return bytes, sum, length
}

// total are the bytes of each stream less what is omitted.
func (s *tcpStreams) total(now func(i int) uint64) (bytes []uint64, sum uint64) {
	bytes = make([]uint64, len(s.conns))
	for i := range s.conns {
		bytes[i] = now(i) - s.omitted[i]
		sum += bytes[i]
	}
	return bytes, sum
}

// span is how long the test lasted, without what is omitted.
func (s *tcpStreams) span() time.Duration { return s.ended.Sub(s.begun) }

// tcpRate is a rate of payload alone; nil where no time passed.
func tcpRate(bytes uint64, d time.Duration) *result.Rate {
	if d <= 0 {
		return nil
	}
	return &result.Rate{L4Bps: 8 * float64(bytes) / d.Seconds()}
}

// tcpSending is the leg of TCP streams that leave here.
type tcpSending struct {
	tcpStreams
	task    tcpTask
	senders []*tcp.Sender
	facts   []tcpFacts
	connect time.Duration // the longest handshake; 0 if the peer made the connections
	ends    bool          // end the streams behind the last byte, so that the receiver knows it has all
	spared  uint64        // bytes of the shortfall that no total holds
}

// A tcpTask is what the streams of a test are to send.
type tcpTask struct {
	pattern  probe.Pattern
	blockLen int
	rate     uint64 // bit/s of payload of each
	bytes    uint64 // of all together; 0 for no limit
	duration time.Duration
	zeroCopy bool
}

// newTCPSending shares a task out among streams.
func newTCPSending(streams tcpStreams, task tcpTask) *tcpSending {
	s := &tcpSending{tcpStreams: streams, task: task}
	n := uint64(len(streams.conns))
	for i, conn := range streams.conns {
		one := &tcp.Sender{
			Conn: conn, Pattern: task.pattern, Len: task.blockLen, Rate: task.rate,
			Bytes: task.bytes / n, Duration: task.duration, ZeroCopy: task.zeroCopy,
		}
		if uint64(i) < task.bytes%n {
			one.Bytes++
		}
		s.senders = append(s.senders, one)
		s.facts = append(s.facts, newTCPFacts(conn))
	}
	return s
}

func (s *tcpSending) run(ctx context.Context, show func(result.Interval)) error {
	return s.work(func(i int) error {
		if s.senders[i].Bytes == 0 && s.task.bytes > 0 {
			return nil // less than a byte for each stream
		}
		return s.senders[i].Run(ctx)
	}, func(at time.Duration, omitted bool) { s.tick(at, omitted, show) })
}

func (s *tcpSending) sentBy(i int) uint64 { return s.senders[i].Sent() }

// shortfall is the bytes that were due by the rate of all streams and given up.
func (s *tcpSending) shortfall() (sum uint64) {
	for _, one := range s.senders {
		sum += one.Shortfall()
	}
	return sum
}

// tick shows what left since the last one.
func (s *tcpSending) tick(at time.Duration, omitted bool, show func(result.Interval)) {
	if omitted {
		s.spared = s.shortfall()
		defer func() {
			for i := range s.facts {
				s.facts[i] = newTCPFacts(s.facts[i].conn)
			}
		}()
	}
	start := s.lastAt
	bytes, sum, length := s.since(at, s.sentBy)
	if s.interval == 0 || !omitted && sum == 0 && length < s.interval/10 {
		return
	}
	iv := result.Interval{StartS: start.Seconds(), EndS: at.Seconds(), Omitted: omitted}
	iv.Sender = &result.SenderInterval{PayloadBytes: sum, Seconds: length.Seconds(), Rate: tcpRate(sum, length)}
	for i := range s.facts {
		facts := s.facts[i].interval()
		if i == 0 && start == 0 && !omitted && s.connect > 0 {
			ns := s.connect.Nanoseconds()
			facts.ConnectNS = &ns
		}
		number := uint16(i)
		iv.Sender.Flows = append(iv.Sender.Flows, result.SenderInterval{
			Flow: &number, PayloadBytes: bytes[i], Seconds: length.Seconds(), Rate: tcpRate(bytes[i], length), IntervalTCP: facts,
		})
	}
	iv.Sender.IntervalTCP = sumTCP(iv.Sender.Flows)
	if len(iv.Sender.Flows) == 1 {
		iv.Sender.Flows = nil
	}
	show(iv)
}

// finish marks the end of the streams.
func (s *tcpSending) finish() error {
	if !s.ends {
		return nil
	}
	for _, conn := range s.conns {
		_ = conn.CloseWrite() // a broken one has told why already
	}
	return nil
}

// sent is what left in all.
func (s *tcpSending) sent() *result.Sender {
	bytes, sum := s.total(s.sentBy)
	r := &result.Sender{PayloadBytes: sum, Seconds: s.span().Seconds(), Rate: tcpRate(sum, s.span())}
	for i := range s.facts {
		number := uint16(i)
		r.Flows = append(r.Flows, result.Sender{
			Flow: &number, PayloadBytes: bytes[i], Seconds: s.span().Seconds(), Rate: tcpRate(bytes[i], s.span()), SentTCP: s.facts[i].total(),
		})
	}
	r.SentTCP = sumSent(r.Flows)
	if s.connect > 0 {
		ns := s.connect.Nanoseconds()
		r.ConnectNS = &ns
	}
	if s.task.rate > 0 {
		n := s.shortfall()
		n -= min(n, s.spared)
		r.ShortfallBytes = &n
	}
	if len(r.Flows) == 1 {
		r.Flows = nil
	}
	return r
}

func (s *tcpSending) progress() string {
	var sum uint64
	for i := range s.senders {
		sum += s.sentBy(i)
	}
	return fmt.Sprintf("sending: %.1f MB in %.1f s", float64(sum)/1e6, time.Since(s.opened).Seconds())
}

// close leaves the connections to whoever opened them.
func (s *tcpSending) close() error { return nil }
