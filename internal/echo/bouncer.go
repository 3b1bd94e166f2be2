package echo

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
)

// LeastBounce is the bytes of the smallest request over UDP.
const LeastBounce = probeSize

// answerPatience is how long a request over UDP waits for its answer before it
// counts as lost.
const answerPatience = time.Second

// A Bouncer sends a request and waits for the answer, which is as large, before it
// sends the next. One goroutine owns it.
type Bouncer struct {
	conn    net.Conn
	udp     bool
	stamper probe.Stamper
	request []byte
	answer  []byte
	seq     uint64
}

// NewBouncer makes one of requests of so many bytes by a connected socket, which
// stays the caller's, to a Responder or a Reflector that bounces.
func NewBouncer(conn net.Conn, size int, token []byte) (*Bouncer, error) {
	b := &Bouncer{
		conn: conn, stamper: probe.Stamper{Format: probe.Native}, request: make([]byte, size), answer: make([]byte, size+1),
	}
	if _, b.udp = conn.(*net.UDPConn); b.udp {
		copy(b.request[tokenOffset:], token)
		return b, nil
	}
	b.answer = b.answer[:size]
	_, err := conn.Write(token)
	return b, err
}

// Run makes transactions until ctx ends, or as many as most have been tried; 0 for
// no such limit. Lost are those over UDP that got no answer. The error is that of a
// socket that failed.
func (b *Bouncer) Run(ctx context.Context, most uint64) (Account, error) {
	defer context.AfterFunc(ctx, func() { b.conn.SetDeadline(time.Now()) })()
	a := Account{Times: NewTimes()}
	for ctx.Err() == nil && (most == 0 || a.Sent < most) {
		begun := linux.Monotonic()
		answered, err := b.transact()
		if ctx.Err() != nil {
			return a, nil // this one was cut short
		}
		if err != nil {
			return a, err
		}
		if a.Sent++; answered {
			a.Times.Record(linux.Monotonic() - begun)
		} else {
			a.Lost++
		}
	}
	return a, nil
}

// transact reports whether a request was answered.
func (b *Bouncer) transact() (bool, error) {
	if !b.udp {
		_, err := b.conn.Write(b.request)
		if err == nil {
			_, err = io.ReadFull(b.conn, b.answer)
		}
		return err == nil, err
	}
	b.seq++
	b.stamper.Put(b.request, 0, b.seq, linux.Monotonic())
	if err := b.conn.SetReadDeadline(time.Now().Add(answerPatience)); err != nil {
		return false, err
	}
	if _, err := b.conn.Write(b.request); err != nil && !passing(err) {
		return false, err
	}
	for {
		n, err := b.conn.Read(b.answer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, nil
		case err != nil && !passing(err):
			return false, err
		case err == nil && n == len(b.request) && b.answers():
			return true, nil
		}
	}
}

// answers reports whether what came answers the latest request.
func (b *Bouncer) answers() bool {
	r, ok := probe.ParseReflection(b.answer[:probe.ReflectionSize])
	return ok && r.Seq == b.seq
}
