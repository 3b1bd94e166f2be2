package session

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"linerate/internal/iperf3"
)

// KeepAlive of a control connection notices a peer that vanished within about 12 s, though most probes
// are lost. While data is on its way there are no probes: see Unacknowledged.
var KeepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 10}

const (
	// hangUpPatience is how long a peer may take to end its side of the connection.
	hangUpPatience = 500 * time.Millisecond
	// messagePatience is how long a peer may take over a message that is due.
	messagePatience = 30 * time.Second
	// resultPatience is how long the peer may take over its results: it waits for what
	// is on its way no longer than a second.
	resultPatience = 10 * time.Second
	// heartbeat is how often two linerates tell each other that they are there.
	heartbeat = time.Second
	// lifeless is how long one may say nothing. What a test does to the network it
	// does to the control connection as well.
	lifeless = 20 * time.Second
	// keptAlive is how long the probes of KeepAlive take to give a peer up.
	keptAlive = 12 * time.Second
)

// Unacknowledged is how long a peer's host may acknowledge nothing of what was said
// on a control connection (TCP_USER_TIMEOUT): as long as the peer may be silent.
func Unacknowledged(linerate bool) time.Duration {
	if linerate {
		return lifeless
	}
	return keptAlive
}

// A control is one end of a control connection while this end is at work: a
// goroutine reads it, as the peer may say something or hang up at any time.
type control struct {
	*iperf3.Conn
	heard  chan struct{} // closed once the peer said something, or will no more
	state  iperf3.State  // what it said; to be read once heard is closed
	failed error         // why it said nothing; likewise
}

// hear starts reading. Each Extra goes to news at once, on the reader's
// goroutine. It ends with the connection, or with the first other state: whatever
// that is, it ends the test.
func hear(conn *iperf3.Conn, patience time.Duration, news func(*iperf3.News)) *control {
	c := &control{Conn: conn, heard: make(chan struct{})}
	go func() {
		defer close(c.heard)
		c.failed = c.read(patience, news)
	}()
	return c
}

// due waits for the state that is due.
func (c *control) due(want iperf3.State) error {
	<-c.heard
	switch {
	case c.failed != nil:
		return controlError(c.failed)
	case c.state != want:
		return refusal(c.Conn, c.state, want)
	}
	return nil
}

func (c *control) read(patience time.Duration, news func(*iperf3.News)) error {
	for {
		c.Patience = iperf3.Patience{First: patience, Whole: messagePatience}
		state, err := c.ReadState()
		if err != nil {
			return err
		}
		if state != iperf3.Extra {
			c.state = state
			return nil
		}
		var n iperf3.News
		if err := c.ReadExtra(&n); err != nil {
			return err
		}
		news(&n)
	}
}

// expect reads states until the one that is due. Any Extra goes to news.
func expect(conn *iperf3.Conn, want iperf3.State, news func(*iperf3.News)) error {
	for {
		conn.Patience = iperf3.Patience{First: messagePatience, Whole: messagePatience}
		got, err := conn.ReadState()
		if err != nil {
			return controlError(err)
		}
		switch got {
		case want:
			return nil
		case iperf3.Extra:
			var n iperf3.News
			if err := conn.ReadExtra(&n); err != nil {
				return controlError(err)
			}
			if news != nil {
				news(&n)
			}
		default:
			return refusal(conn, got, want)
		}
	}
}

// refusal is the error of a state that came in place of another.
func refusal(conn *iperf3.Conn, got, want iperf3.State) error {
	switch got {
	case iperf3.ServerError:
		conn.Patience = iperf3.Patience{First: messagePatience, Whole: messagePatience}
		e, err := conn.ReadServerError()
		if err != nil {
			return controlError(err)
		}
		return fmt.Errorf("the server refuses: %w", e)
	case iperf3.AccessDenied:
		return ErrBusy
	case iperf3.ServerTerminate:
		return errServerEnded
	case iperf3.ClientTerminate:
		return errClientEnded
	}
	return fmt.Errorf("the peer says %v where %v was due: is it iperf3 or linerate serve?", got, want)
}

var (
	// ErrBusy is a server's that has no room for one more test.
	ErrBusy        = errors.New("the server is busy with another test: try again later")
	errServerEnded = errors.New("the server was stopped during the test")
	errClientEnded = errors.New("the client was stopped during the test")
	errClosed      = errors.New("the peer closed the control connection")
)

// controlError words why a control connection failed.
func controlError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errClosed
	}
	return fmt.Errorf("control connection: %w", err)
}

// An outbox sends the other linerate what this end measures, and every second that it
// is there, until it is closed: then other messages come.
type outbox struct {
	conn *iperf3.Conn
	mu   sync.Mutex
	tick *time.Ticker
	done chan struct{}
}

func newOutbox(conn *iperf3.Conn) *outbox {
	o := &outbox{conn: conn, tick: time.NewTicker(heartbeat), done: make(chan struct{})}
	go func() {
		for {
			select {
			case <-o.done:
				return
			case <-o.tick.C:
				o.send(iperf3.News{})
			}
		}
	}()
	return o
}

// send sends news; false if it is too late for them. Why they can't be sent,
// whoever reads the connection finds out.
func (o *outbox) send(n iperf3.News) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.done:
		return false
	default:
		_ = o.conn.WriteExtra(n)
		return true
	}
}

// close ends it. When it returns, nothing more is sent.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.done:
	default:
		o.tick.Stop()
		close(o.done)
	}
}
