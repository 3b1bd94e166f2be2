package iperf3

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pair returns both ends of a TCP connection over loopback.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestCookies(t *testing.T) {
	cookie := NewCookie()
	if len(cookie.String()) != 36 || strings.Trim(cookie.String(), cookieAlphabet) != "" || cookie[36] != 0 {
		t.Errorf("%q", cookie)
	}
	if cookie == NewCookie() {
		t.Error("two cookies are the same")
	}
	in, from := can(append(cookie[:], "data"...))
	got, err := in.ReadCookie()
	rest, _ := io.ReadAll(from.said)
	if got != cookie || err != nil || string(rest) != "data" {
		t.Errorf("%q, %v, and %q left", got, err, rest)
	}
	in, _ = can(cookie[:20])
	if _, err := in.ReadCookie(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a cookie: %v", err)
	}
}

func TestStates(t *testing.T) {
	if AccessDenied.String() != "ACCESS_DENIED" || State(15).String() != "state 15" {
		t.Error(AccessDenied, State(15))
	}
	for b := range 256 {
		in, _ := can([]byte{byte(b)})
		state, err := in.ReadState()
		_, known := stateNames[state]
		var unknown *Error
		if state != State(int8(b)) || known != (err == nil) || !known && !(errors.As(err, &unknown) && unknown.Code == UnknownMessage) {
			t.Errorf("%#x: %v, %v", b, state, err)
		}
	}
	in, _ := can(nil)
	if _, err := in.ReadState(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func TestStreamIDsLeaveOutTwo(t *testing.T) {
	var ids []int
	for i := range 5 {
		ids = append(ids, StreamID(i))
	}
	if diff := cmp.Diff([]int{1, 3, 4, 5, 6}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestEachMessageIsOneWrite(t *testing.T) {
	client, server := pair(t)
	c := NewConn(client)
	type note struct{ From, N int }
	const writers, notes = 4, 200
	var all sync.WaitGroup
	for from := range writers {
		all.Go(func() {
			for n := range notes {
				if err := c.WriteExtra(note{from, n}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	in, next := NewConn(server), [writers]int{}
	for range writers * notes {
		var got note
		state, err := in.ReadState()
		if state != Extra || err != nil || in.ReadExtra(&got) != nil {
			t.Fatalf("%v, %v", state, err)
		}
		if got.N != next[got.From] {
			t.Fatalf("writer %d: note %d came in place of %d", got.From, got.N, next[got.From])
		}
		next[got.From]++
	}
	all.Wait()
}

func TestServerErrors(t *testing.T) {
	out, to := can(nil)
	if err := out.Refuse(BadListen, 98); err != nil || !bytes.Equal(to.got.Bytes(), []byte{0xfe, 0, 0, 0, 102, 0, 0, 0, 98}) {
		t.Errorf("% x, %v", to.got.Bytes(), err)
	}
	for said, want := range map[string]Error{
		"\x00\x00\x00\x8e":                 {Unauthorized, 0}, // 3.12
		"\x00\x00\x00\x8e\x00\x00":         {Unauthorized, 0},
		"\x00\x00\x00\x1b\x00\x00\x00\x00": {OverRateLimit, 0},
		"\x00\x00\x00\x66\x00\x00\x00\x62": {BadListen, 98},
	} {
		in, _ := can([]byte(said))
		got, err := in.ReadServerError()
		if err != nil || *got != want {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
	in, _ := can([]byte{0, 0})
	if got, err := in.ReadServerError(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a code: %v, %v", got, err)
	}
	for text, e := range map[string]Error{
		"test authorization failed": {Unauthorized, 0},
		"iperf3 error 999":          {999, 0},
	} {
		if e.Error() != text {
			t.Errorf("%q, want %q", e.Error(), text)
		}
	}
	if text := (&Error{BadListen, 98}).Error(); !strings.HasPrefix(text, "unable to start listener for connections: ") {
		t.Error(text)
	}
}

func FuzzServerError(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x8e"))
	f.Add([]byte("\x00\x00\x00\x66\x00\x00\x00\x62"))
	f.Fuzz(func(t *testing.T, said []byte) {
		in, _ := can(said)
		refusal, err := in.ReadServerError()
		if (err == nil) != (len(said) >= 4) {
			t.Fatalf("%d bytes: %v", len(said), err)
		}
		if err == nil && refusal.Error() == "" {
			t.Errorf("%+v says nothing", refusal)
		}
	})
}

// Who interrupts ends the read that waits and those that would wait; what is written
// still arrives, and nothing of the end resets it.
func TestInterrupt(t *testing.T) {
	client, server := pair(t)
	c, far := NewConn(client), NewConn(server)
	waiting := make(chan error)
	go func() {
		_, err := c.ReadState()
		waiting <- err
	}()
	c.Interrupt()
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read that waits: %v", err)
	}
	c.Patience = Patience{First: time.Minute, Whole: time.Minute}
	if _, err := c.ReadResults(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a later read: %v", err)
	}
	if err := errors.Join(far.WriteState(TestEnd), c.WriteState(ServerTerminate)); err != nil {
		t.Fatal(err)
	}
	go c.HangUp(time.Minute)
	if state, err := far.ReadState(); state != ServerTerminate || err != nil {
		t.Errorf("what was written: %v, %v", state, err)
	}
}
