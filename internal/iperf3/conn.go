package iperf3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Patience says how long to wait for a message. A zero is for ever.
type Patience struct {
	First time.Duration // until its first byte
	Whole time.Duration // from its first byte to its last
}

// writePatience bounds each write: a peer that takes nothing for so long is gone.
const writePatience = 30 * time.Second

// A Conn is one end of a control connection. One goroutine reads; any number
// may write, each message whole. An error of reading or writing leaves the
// connection in the midst of a message: only HangUp is of use then.
type Conn struct {
	// Patience holds for the next messages to be read. It belongs to the
	// goroutine that reads.
	Patience Patience
	// MostJSON is the most bytes of JSON in a message to be read; 0 is 16 MiB. It
	// belongs to the goroutine that reads.
	MostJSON uint32

	conn        net.Conn
	writing     sync.Mutex
	interrupted atomic.Bool
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// NewConn takes a connection over, at either end and before its first byte. It
// reads no byte ahead: what follows a cookie on a TCP data connection is left
// there.
func NewConn(conn net.Conn) *Conn { return &Conn{conn: conn} }

// Interrupt ends the read that is going on, and each that comes later, with
// os.ErrDeadlineExceeded. What is written still goes out, and HangUp still waits.
func (c *Conn) Interrupt() {
	c.interrupted.Store(true)
	_ = c.conn.SetReadDeadline(longAgo)
}

// read fills b with the beginning of a message, and sets the time by which the
// rest has to come. At the end of the connection it returns io.EOF.
func (c *Conn) read(b []byte) error {
	if err := c.expect(c.Patience.First); err != nil {
		return err
	}
	n, err := c.conn.Read(b)
	if n == 0 && err != nil {
		return err
	}
	if err := c.expect(c.Patience.Whole); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.conn, b[n:]); err != nil {
		return cutOff(err)
	}
	return nil
}

func (c *Conn) expect(patience time.Duration) error {
	var until time.Time
	if patience > 0 {
		until = time.Now().Add(patience)
	}
	if err := c.conn.SetReadDeadline(until); err != nil || !c.interrupted.Load() {
		return err
	}
	return c.conn.SetReadDeadline(longAgo)
}

// cutOff makes an end within a message unexpected.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *Conn) write(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	if _, err := c.conn.Write(message); err != nil {
		return err
	}
	return c.conn.SetWriteDeadline(time.Time{})
}

// ReadCookie reads the first message of a client. If it is that of a TCP data
// connection, the connection under it is as new again: no deadline is left.
func (c *Conn) ReadCookie() (Cookie, error) {
	var cookie Cookie
	if err := c.read(cookie[:]); err != nil {
		return Cookie{}, err
	}
	return cookie, c.expect(0)
}

// WriteCookie begins a conversation, or a TCP data connection, as its client.
func (c *Conn) WriteCookie(cookie Cookie) error { return c.write(cookie[:]) }

// ReadState reads a state. After ServerError call ReadServerError, after Extra
// ReadExtra. A byte that is no state is an Error with UnknownMessage; the end of
// the connection is io.EOF.
func (c *Conn) ReadState() (State, error) {
	var b [1]byte
	if err := c.read(b[:]); err != nil {
		return 0, err
	}
	state := State(b[0])
	if _, known := stateNames[state]; !known {
		return state, fmt.Errorf("%w: %d", &Error{Code: UnknownMessage}, int8(state))
	}
	return state, nil
}

// WriteState sends a state that nothing follows.
func (c *Conn) WriteState(state State) error { return c.write([]byte{byte(state)}) }

// Refuse sends ServerError with a code and an errno of this host, 0 if there is
// none.
func (c *Conn) Refuse(code Code, errno int32) error {
	message := []byte{0xfe}
	message = binary.BigEndian.AppendUint32(message, uint32(code))
	message = binary.BigEndian.AppendUint32(message, uint32(errno))
	return c.write(message)
}

// ReadServerError reads what follows ServerError. Up to 3.19 a refused login
// comes without an errno, so that failing to read it is no failure.
func (c *Conn) ReadServerError() (*Error, error) {
	var word [4]byte
	if err := c.read(word[:]); err != nil {
		return nil, fmt.Errorf("reading the server's error code: %w", cutOff(err))
	}
	refusal := &Error{Code: Code(binary.BigEndian.Uint32(word[:]))}
	if _, err := io.ReadFull(c.conn, word[:]); err == nil {
		refusal.Errno = int32(binary.BigEndian.Uint32(word[:]))
	}
	return refusal, nil
}

// HangUp ends the connection so that the peer gets all that was written: it
// ends its own direction, reads until the peer ends the other or patience is
// up, and closes. The reset of a close over unread bytes would overtake what was
// written last.
func (c *Conn) HangUp(patience time.Duration) error {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil && c.conn.SetReadDeadline(time.Now().Add(patience)) == nil {
		io.Copy(io.Discard, c.conn) // how it ends doesn't matter
	}
	return c.conn.Close()
}
