package echo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"linerate/internal/probe"
)

// responder serves at a loopback address until the test ends, and returns a
// connection to it.
func responder(t *testing.T, addr string, tcp bool, token []byte, size int) net.Conn {
	t.Helper()
	done := make(chan struct{})
	ip := netip.MustParseAddr(addr)
	if !tcp {
		at := listen(t, addr)
		r, err := NewResponder(at, ip, token, size)
		if err != nil {
			t.Fatal(err)
		}
		go func() { defer close(done); r.Serve() }()
		t.Cleanup(func() { at.Close(); <-done })
		return dial(t, at)
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(done); Respond(ctx, l, ip, token, size) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); conn.Close(); <-done })
	return conn
}

func TestEveryRequestIsAnswered(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for _, tcp := range []bool{false, true} {
			for _, size := range []int{LeastBounce, 1400, 20_000} {
				token := NewToken()
				b, err := NewBouncer(responder(t, addr, tcp, token, size), size, token)
				if err != nil {
					t.Fatal(err)
				}
				a, err := b.Run(t.Context(), 50)
				if err != nil || a.Sent != 50 || a.Lost != 0 || a.Times.N() != 50 || a.Times.Min() <= 0 {
					t.Errorf("%s, tcp %v, %d bytes: %+v, %v", addr, tcp, size, a, err)
				}
			}
		}
	}
}

func TestBouncingEndsWithItsContext(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		token := NewToken()
		b, err := NewBouncer(responder(t, "127.0.0.1", tcp, token, 100), 100, token)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if a, err := b.Run(ctx, 0); err != nil || a.Sent == 0 || a.Lost != 0 || a.Times.N() != a.Sent {
			t.Errorf("tcp %v: %+v, %v", tcp, a, err)
		}
	}
}

// Without the token, and with requests of another size, nothing comes back.
func TestResponderIgnoresStrangers(t *testing.T) {
	token := NewToken()
	conn := responder(t, "127.0.0.1", false, token, 100)
	for what, n := range map[string]int{"shorter": 99, "longer": 101} {
		b := bytes.Repeat([]byte{1}, n)
		(&probe.Stamper{}).Put(b, 0, 1, 1)
		copy(b[tokenOffset:], token)
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		silentTo(t, what, conn.(*net.UDPConn))
	}
	b := make([]byte, 100)
	(&probe.Stamper{}).Put(b, 0, 1, 1)
	conn.Write(b)
	silentTo(t, "no token", conn.(*net.UDPConn))

	stream := responder(t, "127.0.0.1", true, token, 100)
	stream.Write(make([]byte, TokenSize+100))
	stream.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := stream.Read(b); n != 0 || errors.Is(err, context.DeadlineExceeded) || err == nil {
		t.Errorf("%d bytes came back over TCP, %v", n, err)
	}
}

// Of what a responder does not answer, each request is lost and counted.
func TestUnansweredRequestsAreLost(t *testing.T) {
	relay := listen(t, "127.0.0.1")
	go func() {
		var b [200]byte
		for n := 0; ; n++ {
			size, from, err := relay.ReadFromUDPAddrPort(b[:])
			if err != nil {
				return
			}
			if n%3 == 2 {
				continue
			}
			relay.WriteToUDPAddrPort([]byte("garbage"), from)
			probe.Reflect(b[:size], 1, 1)
			relay.WriteToUDPAddrPort(b[:size], from)
			relay.WriteToUDPAddrPort(b[:size], from) // a copy answers nothing
		}
	}()
	token := NewToken()
	b, err := NewBouncer(dial(t, relay), 100, token)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := b.Run(t.Context(), 6); err != nil || a.Sent != 6 || a.Lost != 2 || a.Times.N() != 4 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestBouncingBreaksWithItsConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBouncer(conn, 100, NewToken())
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(far, make([]byte, TokenSize))
	far.Close()
	if a, err := b.Run(t.Context(), 6); err == nil || a.Times.N() != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
