package echo

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"net"
	"sync/atomic"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
)

// A Prober sends probes and takes what comes back. Finish ends it.
type Prober struct {
	conn    *net.UDPConn
	stamper probe.Stamper
	payload [probeSize]byte
	stop    chan struct{} // closed when no more are to be sent
	silent  chan struct{} // closed when no more are sent
	done    chan struct{} // closed when no more are awaited

	sent     atomic.Uint64
	answered atomic.Uint64
	total    atomic.Uint64 // that were sent in all, once that is known

	reader reader // from here on the receiving goroutine's
	seen   window
	times  *Times
}

// An Account is what became of a prober's probes: Sent are those that the kernel
// took, and each that is not Lost has one time.
type Account struct {
	Sent, Lost uint64
	Times      *Times
}

// Start begins to send, from a time on, a probe each period by a connected socket,
// which stays the caller's and which nobody else reads. The token is TokenSize
// bytes.
func Start(conn *net.UDPConn, at time.Time, every time.Duration, token []byte) (*Prober, error) {
	var run [2]byte
	rand.Read(run[:]) // never fails
	p := &Prober{
		conn: conn, stamper: probe.Stamper{Format: probe.Native, Run: binary.NativeEndian.Uint16(run[:])},
		stop: make(chan struct{}), silent: make(chan struct{}), done: make(chan struct{}),
		reader: newReader(conn, probeSize), times: NewTimes(),
	}
	p.total.Store(math.MaxUint64)
	copy(p.payload[tokenOffset:], token)
	if err := p.reader.stamp(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		for p.receive() {
		}
	}()
	go func() {
		defer close(p.silent)
		p.sendAll(at, every)
	}()
	return p, nil
}

// sendAll sends until it is stopped. A period that the machine slept through has no
// probe: probes in a row would measure each other.
func (p *Prober) sendAll(at time.Time, every time.Duration) {
	select {
	case <-p.stop:
		return
	case <-time.After(time.Until(at)):
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		p.send()
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
	}
}

// send sends the next probe. One that the kernel refuses keeps its number.
func (p *Prober) send() {
	seq := p.sent.Load()
	p.stamper.Put(p.payload[:], 0, seq, linux.Monotonic())
	_, err := p.conn.Write(p.payload[:])
	if passing(err) { // which was of the one before: this one has not left
		p.stamper.Put(p.payload[:], 0, seq, linux.Monotonic())
		_, err = p.conn.Write(p.payload[:])
	}
	if err == nil {
		p.sent.Add(1)
	}
}

// receive takes the next datagram; false once no more is awaited.
func (p *Prober) receive() bool {
	a, err := p.reader.read()
	if err != nil {
		return passing(err)
	}
	r, ok := probe.ParseReflection(a.payload)
	// The number may be that of the probe that is just being sent.
	if !ok || r.Run != p.stamper.Run || r.Seq > p.sent.Load() {
		return true
	}
	trip := probe.Elapsed(r.Sent, a.at) - r.Turnaround
	if trip < 0 || !p.seen.first(r.Seq) {
		return true
	}
	p.times.Record(trip)
	return p.answered.Add(1) != p.total.Load()
}

// Finish stops sending, waits so long for probes that are on their way, and closes
// the account.
func (p *Prober) Finish(patience time.Duration) Account {
	close(p.stop)
	<-p.silent
	total := p.sent.Load()
	p.total.Store(total)
	if p.answered.Load() == total {
		patience = 0
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(patience)) // fails if the socket is closed, and then reading does
	<-p.done
	return Account{Sent: total, Lost: total - p.answered.Load(), Times: p.times}
}
