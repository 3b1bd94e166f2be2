package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// 10,000 random and truncated conversations leave the server serving, and nothing
// behind: no descriptor here, no goroutine when it ends, no memory.
func TestConversationsAtRandom(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 64, MaxDuration: 5 * time.Second})
	const workers, each = 20, 500
	talk := func(from uint64) {
		var all sync.WaitGroup
		for w := range uint64(workers) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(from, w))
				check(t, h.A().Do(func() error {
					for range each / 2 {
						if err := h.babble(r); err != nil {
							return err
						}
					}
					return nil
				}))
			})
		}
		all.Wait()
	}
	h.serves()
	before := h.descriptors()
	talk(1) // grows what it needs
	h.settled(before)
	grown := h.heap()
	talk(2)
	h.settled(before)
	if more := h.heap() - grown; more > 1<<20 {
		t.Errorf("the server grew by %d bytes", more)
	}
	h.serves()
}

// babble holds one conversation, on the calling thread.
func (h *house) babble(r *rand.Rand) error {
	conn, err := net.Dial("tcp", h.at.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if r.IntN(2) == 0 {
		conn.(*net.TCPConn).SetLinger(0) // ends in a reset
	}
	script := randomScript(r)
	if r.IntN(3) == 0 {
		script = script[:r.IntN(len(script)+1)]
	}
	conn.SetDeadline(time.Now().Add(time.Duration(r.IntN(16)) * time.Millisecond))
	conn.Write(script) // what the server makes of it is its business
	io.Copy(io.Discard, conn)
	return nil
}

// randomScript is what a client might say, more or less.
func randomScript(r *rand.Rand) []byte {
	cookie := iperf3.NewCookie()
	s := append([]byte{}, cookie[:]...)
	text := randomParams(r)
	length := uint32(len(text))
	switch r.IntN(10) {
	case 0:
		length = r.Uint32()
	case 1:
		length = []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1}[r.IntN(5)]
	}
	s = binary.BigEndian.AppendUint32(s, length)
	s = append(s, text...)
	for range r.IntN(30) {
		s = append(s, []byte{1, 2, 4, 9, 12, 13, 14, 16, 0xff, 0xfe, 'L', byte(r.Uint32())}[r.IntN(12)])
	}
	if r.IntN(5) == 0 {
		for range 1 + r.IntN(10) {
			s[r.IntN(len(s))] = byte(r.Uint32())
		}
	}
	return s
}

// randomParams are parameters, of which some are odd.
func randomParams(r *rand.Rand) []byte {
	odd := func() any {
		return []any{nil, -1, 0, 1, 129, 1 << 20, int64(1) << 31, int64(-1) << 40, 1e300, "x", true, []int{1}, map[string]int{"a": 1}, strings.Repeat("9", 400)}[r.IntN(14)]
	}
	p := map[string]any{"omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 1 + r.IntN(3), "len": 1000, "bandwidth": 1000000, "pacing_timer": 1000}
	p[[]string{"tcp", "udp"}[r.IntN(2)]] = true
	for _, key := range []string{"reverse", "bidirectional", "udp_counters_64bit", "MSS", "window", "TOS", "congestion", "burst", "authtoken", "title"} {
		switch r.IntN(8) {
		case 0:
			p[key] = true
		case 1:
			p[key] = odd()
		}
	}
	if r.IntN(2) == 0 {
		ask := map[string]any{"version": "1", "rate": "1M", "duration_ns": 1000000000}
		for _, key := range []string{"rate", "layer", "payload", "imix", "duration_ns", "count", "bytes", "path", "rx", "burst", "pattern", "ttl", "pace", "interval_ns"} {
			switch r.IntN(8) {
			case 0:
				ask[key] = odd()
			case 1:
				ask[key] = []any{"udp", "auto", "packet", "ramp", "simple", "l1", "0", 1000, int64(1) << 40}[r.IntN(9)]
			}
		}
		p["linerate"] = ask
	}
	if r.IntN(2) == 0 {
		for _, key := range []string{"time", "parallel", "len", "num", "bandwidth"} {
			if r.IntN(4) == 0 {
				p[key] = odd()
			}
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	switch r.IntN(20) {
	case 0:
		return []byte(strings.Repeat("[", 60000)) // a bomb
	case 1:
		return []byte(strings.Repeat(`{"linerate":`, 5000))
	}
	return text
}

// BC-070: 200 clients at once, of which each is served or told that the server is
// busy, and what each sent is what the server counted.
func TestTwoHundredClientsAtOnce(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 64})
	h.serves()
	h.await("done 1")
	before := h.descriptors()
	var all sync.WaitGroup
	var mu sync.Mutex
	served, busy := 0, 0
	count := func(what string, wasServed bool, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case wasServed:
			served++
		default:
			busy++
		}
	}
	const stock = 20
	for i := range stock {
		all.Go(func() {
			how := []string{"", " -R", " -u -b 10M -l 1024", " -u -b 10M -l 1024 -R"}[i%4]
			out, err := h.client(strings.Fields("iperf3 -n 64K -c " + h.at.Addr().String() + how)...)
			isBusy := strings.Contains(out, "the server is busy")
			if err != nil && !isBusy {
				err = fmt.Errorf("%w\n%s", err, out)
			} else {
				err = nil
			}
			count("iperf3"+how, !isBusy, err)
		})
	}
	for i := range 200 - stock {
		all.Go(func() {
			ok, err := h.exactly(1000 + i)
			count("a client", ok, err)
		})
	}
	all.Wait()
	t.Logf("%d were served, %d told that the server is busy", served, busy)
	if served == 0 || busy == 0 || served+busy != 200 {
		t.Errorf("%d were served and %d told that the server is busy, of 200", served, busy)
	}
	h.settled(before)
	h.serves()
}

// exactly runs a test of n bytes over TCP, and reports whether it was served. It is
// an error if the server counted any other number.
func (h *house) exactly(n int) (served bool, err error) {
	var control, data net.Conn
	dial := func(conn *net.Conn) func() error {
		return func() (err error) {
			*conn, err = net.Dial("tcp", h.at.String())
			return err
		}
	}
	if err := h.A().Do(dial(&control)); err != nil {
		return false, err
	}
	defer control.Close()
	c, cookie := iperf3.NewConn(control), iperf3.NewCookie()
	c.Patience = iperf3.Patience{First: time.Minute, Whole: time.Minute}
	if err := c.WriteCookie(cookie); err != nil {
		return false, err
	}
	state, err := c.ReadState()
	if err != nil || state == iperf3.AccessDenied {
		return false, err
	}
	if err := c.WriteParams(&iperf3.Params{TCP: true, Num: int64(n), Parallel: 1}); err != nil {
		return false, err
	}
	for state != iperf3.TestRunning {
		if state, err = c.ReadState(); err != nil {
			return false, err
		}
		if state != iperf3.CreateStreams {
			continue
		}
		if err := h.A().Do(dial(&data)); err != nil {
			return false, err
		}
		defer data.Close()
		if _, err := data.Write(cookie[:]); err != nil {
			return false, err
		}
	}
	if _, err := data.Write(make([]byte, n)); err != nil {
		return false, err
	}
	if err := c.WriteState(iperf3.TestEnd); err != nil {
		return false, err
	}
	if state, err = c.ReadState(); err != nil || state != iperf3.ExchangeResults {
		return false, fmt.Errorf("%v: %w", state, err)
	}
	if err := c.WriteResults(&iperf3.Results{Streams: []iperf3.StreamResult{{ID: 1, Bytes: int64(n)}}}); err != nil {
		return false, err
	}
	theirs, err := c.ReadResults()
	if err != nil {
		return false, err
	}
	if len(theirs.Streams) != 1 || theirs.Streams[0].Bytes != int64(n) {
		return false, fmt.Errorf("the server counted %+v, sent were %d bytes", theirs.Streams, n)
	}
	return true, c.WriteState(iperf3.IperfDone)
}
