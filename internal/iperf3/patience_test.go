package iperf3

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// BC-127: neither silence nor a byte at a time holds a reader for longer than it means
// to wait.
func TestPatience(t *testing.T) {
	client, server := pair(t)
	c := NewConn(client)
	c.Patience = Patience{First: 20 * time.Millisecond}
	if _, err := c.ReadState(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent peer: %v", err)
	}
	// A byte at a time, within any gap's limit, for ever.
	drip := make(chan struct{})
	go func() {
		defer close(drip)
		for _, err := server.Write([]byte{0, 0, 1, 0}); err == nil; _, err = server.Write([]byte{' '}) {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	c.Patience = Patience{First: time.Minute, Whole: 50 * time.Millisecond}
	if _, err := c.ReadParams(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a slow peer: %v", err)
	}
	client.Close()
	<-drip
}

func TestPatienceEndsWithTheMessage(t *testing.T) {
	client, server := pair(t)
	c := NewConn(client)
	c.Patience = Patience{First: time.Minute, Whole: time.Millisecond}
	server.Write([]byte{byte(TestStart)})
	if state, err := c.ReadState(); state != TestStart || err != nil {
		t.Fatal(state, err)
	}
	c.Patience = Patience{}
	time.AfterFunc(20*time.Millisecond, func() { server.Write([]byte{byte(TestRunning)}) })
	if state, err := c.ReadState(); state != TestRunning || err != nil {
		t.Error(state, err)
	}
}

// turnAway is how a busy server ends a connection.
func turnAway(conn net.Conn, patience time.Duration) error {
	c := NewConn(conn)
	c.Patience = Patience{First: patience, Whole: patience}
	_, err := c.ReadCookie()
	return errors.Join(err, c.WriteState(AccessDenied), c.HangUp(patience))
}

func TestBusyIsAlwaysHeard(t *testing.T) {
	for range 50 {
		client, server := pair(t)
		turned := make(chan error, 1)
		go func() { turned <- turnAway(server, 10*time.Second) }()
		c := NewConn(client)
		if err := c.WriteCookie(NewCookie()); err != nil {
			t.Fatal(err)
		}
		if state, err := c.ReadState(); state != AccessDenied || err != nil {
			t.Fatal(state, err)
		}
		if _, err := c.ReadState(); err != io.EOF {
			t.Fatal(err)
		}
		client.Close()
		if err := <-turned; err != nil {
			t.Fatal(err)
		}
	}
}

func TestBusyWaitsForNobody(t *testing.T) {
	client, server := pair(t)
	turned := make(chan error, 1)
	go func() { turned <- turnAway(server, 20*time.Millisecond) }()
	if state, err := NewConn(client).ReadState(); state != AccessDenied || err != nil {
		t.Error(state, err)
	}
	if err := <-turned; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("no cookie came: %v", err)
	}
}

func TestHangUpDeliversWhatWasSaid(t *testing.T) {
	client, server := pair(t)
	client.Write(make([]byte, 1<<16)) // unread, and more than Refuse leaves time to read
	done := make(chan error, 1)
	go func() {
		c := NewConn(server)
		done <- errors.Join(c.Refuse(OverRateLimit, 0), c.HangUp(10*time.Second))
	}()
	c := NewConn(client)
	state, err := c.ReadState()
	if state != ServerError || err != nil {
		t.Fatal(state, err)
	}
	if refusal, err := c.ReadServerError(); err != nil || refusal.Code != OverRateLimit {
		t.Fatal(refusal, err)
	}
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
