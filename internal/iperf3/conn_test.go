package iperf3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
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

func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
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

func TestLengthsAreBounded(t *testing.T) {
	big := strings.Repeat(" ", maxParamsIn)
	for name, said := range map[string][]byte{
		"0":             {0, 0, 0, 0},
		"2^31-1":        {0x7f, 0xff, 0xff, 0xff, '{', '}'},
		"2^32-1":        {0xff, 0xff, 0xff, 0xff, '{', '}'},
		"65537":         framed(big + "{"),
		"half a length": {0, 0},
		"no end":        {0, 0, 0, 9, '{', '}'},
		"no JSON":       framed("udp=1"),
		"an array":      framed("[]"),
	} {
		in, _ := can(said)
		if p, err := in.ReadParams(); err == nil || !strings.HasPrefix(err.Error(), "reading the parameters: ") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	in, _ := can(framed(big[2:] + "{}"))
	if _, err := in.ReadParams(); err != nil {
		t.Errorf("64 KiB: %v", err)
	}
	out, to := can(nil)
	if err := out.WriteParams(&Params{Title: big}); err == nil || to.got.Len() > 0 {
		t.Errorf("parameters that no peer takes: %v, %d bytes written", err, to.got.Len())
	}
}

// What a peer announces costs nothing; what it sends, some multiple of its size,
// nearly all of it garbage at once.
func TestMemoryIsBoundedByWhatCame(t *testing.T) {
	allocated := func(said []byte) uint64 {
		in, _ := can(said)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in.ReadResults()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated([]byte{0x00, 0xff, 0xff, 0xff, '{'}); n > 64<<10 {
		t.Errorf("a length of 16 MiB alone took %d bytes", n)
	}
	const size = 1 << 20
	for name, text := range map[string]string{
		"unknown keys":  `{` + strings.Repeat(`"a":1,`, size/6) + `"b":1}`,
		"one long key":  `{"` + strings.Repeat(`a`, size) + `":1}`,
		"empty streams": `{"streams":[` + strings.Repeat(`{},`, size/3) + `{}]}`,
		"nested":        `{"streams":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + strings.Repeat(" ", size) + `}`,
		"same key":      `{` + strings.Repeat(`"streams":[],`, size/13) + `"b":1}`,
	} {
		if n := allocated(framed(text)); n > 64*size {
			t.Errorf("%s: %d bytes took %d", name, len(text), n)
		}
	}
}

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

func TestBusyIsAlwaysHeard(t *testing.T) {
	for range 50 {
		client, server := pair(t)
		turned := make(chan error, 1)
		go func() { turned <- NewConn(server).Busy(10 * time.Second) }()
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
	go func() { turned <- NewConn(server).Busy(20 * time.Millisecond) }()
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

// listen reads as a server or a client would whatever comes, to its end.
func listen(c *Conn, client bool) {
	if !client {
		if _, err := c.ReadCookie(); err != nil {
			return
		}
		if _, err := c.ReadParams(); err != nil {
			return
		}
	}
	for {
		state, err := c.ReadState()
		switch {
		case err != nil:
			return
		case state == ServerError:
			c.ReadServerError()
		case state == Extra:
			var v json.RawMessage
			err = c.ReadExtra(&v)
		case state == ExchangeResults || state == TestEnd:
			_, err = c.ReadResults()
		}
		if err != nil {
			return
		}
	}
}

func FuzzConversation(f *testing.F) {
	for _, file := range []string{"udp-forward", "udp-reverse", "udp-bidir-64bit", "tcp-forward", "errors"} {
		for _, said := range samples(f, "testdata/hexdump-"+file+".txt") {
			f.Add(said.bytes, !said.client)
		}
	}
	f.Add([]byte("L\x00\x00\x00\x02{}L\x00\x00\x00\x00"), true)
	f.Fuzz(func(t *testing.T, said []byte, client bool) {
		in, _ := can(said)
		listen(in, client)
	})
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
