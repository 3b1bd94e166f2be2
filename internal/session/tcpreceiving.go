package session

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// tcpSilence is how long a stream may say nothing after the test before all that
// was sent by it counts as read.
const tcpSilence = 200 * time.Millisecond

// tcpReceiving is the leg of TCP streams that come.
type tcpReceiving struct {
	tcpStreams
	receivers []*tcp.Receiver
}

func newTCPReceiving(streams tcpStreams, verify *probe.Pattern) *tcpReceiving {
	r := &tcpReceiving{tcpStreams: streams}
	for _, conn := range streams.conns {
		r.receivers = append(r.receivers, &tcp.Receiver{Conn: conn, Verify: verify})
	}
	return r
}

func (r *tcpReceiving) run(ctx context.Context, show func(result.Interval)) error {
	if r.most > 0 {
		var enough context.CancelFunc
		ctx, enough = context.WithCancel(ctx)
		defer enough()
		go r.watch(ctx, enough)
	}
	return r.work(func(i int) error {
		_, err := r.receivers[i].Run(ctx)
		return err
	}, func(at time.Duration, omitted bool) { r.tick(at, omitted, show) })
}

// limitPause is how often a limit of bytes is looked after.
const limitPause = 5 * time.Millisecond

// watch calls enough once as many bytes came as were asked for.
func (r *tcpReceiving) watch(ctx context.Context, enough func()) {
	tick := time.NewTicker(limitPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		if _, sum := r.total(r.receivedBy); sum >= r.most {
			enough()
			return
		}
	}
}

func (r *tcpReceiving) receivedBy(i int) uint64 { return r.receivers[i].Received() }

// tick shows what came since the last one.
func (r *tcpReceiving) tick(at time.Duration, omitted bool, show func(result.Interval)) {
	start := r.lastAt
	bytes, sum, length := r.since(at, r.receivedBy)
	if r.interval == 0 || !omitted && sum == 0 && length < r.interval/10 {
		return
	}
	iv := result.Interval{StartS: start.Seconds(), EndS: at.Seconds(), Omitted: omitted}
	iv.Receiver = &result.ReceiverInterval{PayloadBytes: sum, Seconds: length.Seconds(), Rate: tcpRate(sum, length)}
	if len(r.conns) > 1 {
		for i := range r.conns {
			number := uint16(i)
			iv.Receiver.Flows = append(iv.Receiver.Flows, result.ReceiverInterval{
				Flow: &number, PayloadBytes: bytes[i], Seconds: length.Seconds(), Rate: tcpRate(bytes[i], length),
			})
		}
	}
	show(iv)
}

func (r *tcpReceiving) finish() error { return nil }

// drain reads what was sent before the end of the test and is still on its way,
// for as long as patience lasts.
func (r *tcpReceiving) drain(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before, _ := r.total(r.receivedBy)
	ended := r.ended
	if ended.IsZero() {
		ended = time.Now()
	}
	streams := tcpStreams{conns: r.conns}
	var silent atomic.Bool // one went silent before it ended
	err := streams.work(func(i int) error {
		done, err := r.receivers[i].Drain(ctx, tcpSilence)
		if !done && err == nil {
			silent.Store(true)
		}
		return err
	}, func(time.Duration, bool) {})
	after, _ := r.total(r.receivedBy)
	for i := range after {
		if after[i] > before[i] {
			ended = streams.ended
			if silent.Load() {
				ended = ended.Add(-tcpSilence)
			}
		}
	}
	r.ended = ended
	return err
}

// lastInterval shows what drain brought, if anything.
func (r *tcpReceiving) lastInterval(show func(result.Interval)) {
	r.tick(max(r.span(), r.lastAt), false, show)
}

// received is what came in all.
func (r *tcpReceiving) received() *result.Receiver {
	bytes, sum := r.total(r.receivedBy)
	total := &result.Receiver{PayloadBytes: sum, Seconds: r.span().Seconds(), Rate: tcpRate(sum, r.span()), CorruptBytes: r.corrupt()}
	if len(r.conns) > 1 {
		for i := range r.conns {
			number := uint16(i)
			total.Flows = append(total.Flows, result.Receiver{
				Flow: &number, PayloadBytes: bytes[i], Seconds: r.span().Seconds(), Rate: tcpRate(bytes[i], r.span()),
			})
		}
	}
	return total
}

// corrupt is how many bytes were not those of the pattern; nil if they were not looked at.
func (r *tcpReceiving) corrupt() *uint64 {
	if r.receivers[0].Verify == nil {
		return nil
	}
	var sum uint64
	for _, one := range r.receivers {
		sum += one.Corrupt()
	}
	return &sum
}

func (r *tcpReceiving) progress() string {
	var sum uint64
	for i := range r.receivers {
		sum += r.receivedBy(i)
	}
	return fmt.Sprintf("receiving: %.1f MB in %.1f s", float64(sum)/1e6, time.Since(r.opened).Seconds())
}

// close leaves the connections to whoever opened them.
func (r *tcpReceiving) close() error { return nil }
