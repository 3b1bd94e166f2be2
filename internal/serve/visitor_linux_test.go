package serve

import (
	"encoding/binary"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// A visitor is a client that a test leads by the hand.
type visitor struct {
	h       *house
	conn    *net.TCPConn
	control *iperf3.Conn
	cookie  iperf3.Cookie
	data    []net.Conn
}

// enter begins a test, as soon as there is room for it: that has to be soon.
func (h *house) enter() *visitor {
	h.t.Helper()
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		v := &visitor{h: h, conn: h.dial(), cookie: iperf3.NewCookie()}
		v.control = iperf3.NewConn(v.conn)
		v.control.Patience = iperf3.Patience{First: patience, Whole: patience}
		check(h.t, v.control.WriteCookie(v.cookie))
		state, err := v.control.ReadState()
		if state == iperf3.ParamExchange && err == nil {
			return v
		}
		if err != nil || state != iperf3.AccessDenied || time.Now().After(end) {
			h.t.Fatalf("%v (%v), want %v", state, err, iperf3.ParamExchange)
		}
		v.leave()
	}
}

// open asks for a test and opens n of its streams.
func (v *visitor) open(p *iperf3.Params, n int) {
	v.h.t.Helper()
	check(v.h.t, v.control.WriteParams(p))
	expect(v.h.t, v.control, iperf3.CreateStreams)
	for range n {
		if p.UDP {
			v.data = append(v.data, v.h.hello())
			continue
		}
		d := v.h.dial()
		check(v.h.t, iperf3.NewConn(d).WriteCookie(v.cookie))
		v.data = append(v.data, d)
	}
}

// sayLength begins a message of JSON that never comes.
func (v *visitor) sayLength(length uint32) {
	v.h.t.Helper()
	_, err := v.conn.Write(binary.BigEndian.AppendUint32(nil, length))
	check(v.h.t, err)
}

// sayJSON says what the type of a message would not let pass.
func (v *visitor) sayJSON(text string) {
	v.h.t.Helper()
	v.sayLength(uint32(len(text)))
	_, err := v.conn.Write([]byte(text))
	check(v.h.t, err)
}

func (v *visitor) leave() {
	v.conn.Close()
	for _, d := range v.data {
		d.Close()
	}
}

// hello opens a UDP stream from a.
func (h *house) hello() net.Conn {
	h.t.Helper()
	conn := h.udp(h.A())
	_, err := conn.Write([]byte(iperf3.Hello))
	check(h.t, err)
	check(h.t, conn.SetReadDeadline(time.Now().Add(patience)))
	var b [2000]byte
	n, err := conn.Read(b[:])
	if err != nil || !iperf3.IsReply(b[:n]) {
		h.t.Fatalf("%q (%v), want the reply to a hello", b[:n], err)
	}
	return conn
}

// udp is a socket at a host towards the server.
func (h *house) udp(host *lab.Host) net.Conn {
	h.t.Helper()
	var conn net.Conn
	check(h.t, host.Do(func() (err error) {
		conn, err = net.Dial("udp", h.at.String())
		return err
	}))
	h.t.Cleanup(func() { conn.Close() })
	return conn
}

func expect(t *testing.T, c *iperf3.Conn, want iperf3.State) {
	t.Helper()
	if got, err := c.ReadState(); err != nil || got != want {
		t.Fatalf("%v (%v), want %v", got, err, want)
	}
}

// sumKbits is the rate that a stock client's receiver got in all, of -f k.
func sumKbits(t *testing.T, out string) float64 {
	t.Helper()
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) > 3 && words[0] == "[SUM]" && words[len(words)-1] == "receiver" {
			rate, err := strconv.ParseFloat(words[len(words)-3], 64)
			check(t, err)
			return rate
		}
	}
	t.Fatalf("no sum in\n%s", out)
	return 0
}
