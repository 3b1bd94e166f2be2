package iperf3

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"linerate/internal/lab"
)

// patient is enough for a peer on the same, busy machine.
var patient = Patience{First: 20 * time.Second, Whole: 20 * time.Second}

func newLab(t *testing.T) *lab.Lab {
	t.Helper()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// stock starts iperf3 on a host until the test's end.
func stock(t *testing.T, host *lab.Host, env []string, args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	cmd, out = exec.Command("iperf3", args...), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(cmd.Environ(), env...)
	if err := host.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd, out
}

// dial connects to iperf3 at b and sends a cookie, until it asks for parameters:
// it listens only after a while, and anew after each test.
func dial(t *testing.T, l *lab.Lab) *Conn {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := tryDial(l)
		if err == nil {
			t.Cleanup(func() { c.conn.Close() })
			return c
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

func tryDial(l *lab.Lab) (*Conn, error) {
	var conn net.Conn
	err := l.A().Do(func() (err error) {
		conn, err = net.Dial("tcp", netip.AddrPortFrom(l.B().Addr4, Port).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	c := NewConn(conn)
	c.Patience = patient
	if err = c.WriteCookie(NewCookie()); err == nil {
		var state State
		if state, err = c.ReadState(); err == nil && state != ParamExchange {
			err = fmt.Errorf("the server says %v", state)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func expect(t *testing.T, c *Conn, want State) {
	t.Helper()
	got, err := c.ReadState()
	if err != nil || got != want {
		t.Fatalf("%v (%v) instead of %v", got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The whole conversation as a client, with a stream that drops, doubles and
// reorders: the server's verdict is the predicted one.
func TestStockServerJudgesAsPredicted(t *testing.T) {
	for name, counters64 := range map[string]bool{"32 bits": false, "64 bits": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			server, out := stock(t, l.B(), nil, "-s", "-1", "-4")
			c := dial(t, l)
			const size = 100
			must(t, c.WriteParams(&Params{UDP: true, Time: 5, Parallel: 1, Len: size, Counters64: counters64,
				ClientVersion: "3.12", Extra: json.RawMessage(`{"a":[1]}`)}))
			expect(t, c, CreateStreams)
			var data net.Conn
			must(t, l.A().Do(func() (err error) {
				data, err = net.Dial("udp", netip.AddrPortFrom(l.B().Addr4, Port).String())
				return err
			}))
			defer data.Close()
			data.Write([]byte(Hello))
			var reply [100]byte
			data.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := data.Read(reply[:])
			if err != nil || !IsReply(reply[:n]) {
				t.Fatalf("reply % x, %v", reply[:n], err)
			}
			// A repeated hello, 20 datagrams with 6 missing, a late one and
			// copies, which take back 3 of the 6.
			var want Verdict
			numbers := []int64{0, 1, 2, 4, 3, 5, 8, 8, 8, 9, 10, 15, 16, 17, 18, 19, 17, 20, 21, 22}
			expect(t, c, TestStart)
			expect(t, c, TestRunning)
			for _, number := range numbers {
				b := PaddedHello(size, time.Minute)
				last := 11 // of the number's bytes
				if counters64 {
					last = 15
				}
				b[last] = byte(number)
				if _, err := data.Write(b); err != nil {
					t.Fatal(err)
				}
				want.Arrive(number)
			}
			time.Sleep(300 * time.Millisecond) // a stock server doesn't drain
			must(t, c.WriteState(TestEnd))
			expect(t, c, ExchangeResults)
			must(t, c.WriteResults(&Results{Streams: []StreamResult{{ID: StreamID(0), Bytes: 20 * size, Retransmits: -1, Packets: 22, EndTime: 1}}}))
			got, err := c.ReadResults()
			must(t, err)
			expect(t, c, DisplayResults)
			must(t, c.WriteState(IperfDone))
			must(t, c.HangUp(20*time.Second))
			if err := server.Wait(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if len(got.Streams) != 1 || got.SenderHasRetransmits != -1 {
				t.Fatalf("%+v", got)
			}
			s := got.Streams[0]
			if s.ID != 1 || s.Bytes != int64(len(numbers))*size || s.Packets != want.Packets || s.Errors != want.Lost || want.Lost != 3 {
				t.Errorf("the server says %+v, predicted was %+v", s, want)
			}
		})
	}
}

// accept takes iperf3's control connection at b and reads its parameters.
func accept(t *testing.T, l net.Listener) (*Conn, *Params) {
	t.Helper()
	l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	conn, err := l.Accept()
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	c := NewConn(conn)
	c.Patience = patient
	cookie, err := c.ReadCookie()
	if err != nil || len(cookie.String()) != 36 {
		t.Fatalf("%q, %v", cookie, err)
	}
	must(t, c.WriteState(ParamExchange))
	p, err := c.ReadParams()
	must(t, err)
	return c, p
}

// listen5201 opens both sockets of a server on b.
func listen5201(t *testing.T, l *lab.Lab) (tcp net.Listener, udp net.PacketConn) {
	t.Helper()
	at := netip.AddrPortFrom(l.B().Addr4, Port).String()
	must(t, l.B().Do(func() (err error) {
		if tcp, err = net.Listen("tcp", at); err != nil {
			return err
		}
		udp, err = net.ListenPacket("udp", at)
		return err
	}))
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	return tcp, udp
}

// The whole conversation as a server: the client prints what it was told.
func TestStockClientPrintsOurNumbers(t *testing.T) {
	l := newLab(t)
	tcp, udp := listen5201(t, l)
	client, out := stock(t, l.A(), nil, "-c", l.B().Addr4.String(), "-u", "-l", "100", "-k", "20", "-b", "1M", "-J")
	c, p := accept(t, tcp)
	if !p.UDP || p.Len != 100 || p.BlockCount != 20 || p.Time != 0 || p.Bandwidth != 1e6 || p.Parallel != 1 || p.Check(Limits{}) != None {
		t.Errorf("%+v", p)
	}
	must(t, c.WriteState(CreateStreams))
	var b [1500]byte
	udp.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, peer, err := udp.ReadFrom(b[:])
	if err != nil || !IsHello(b[:n], false) {
		t.Fatalf("hello % x, %v", b[:n], err)
	}
	_, err = udp.WriteTo([]byte(Reply), peer)
	must(t, err)
	must(t, c.WriteState(TestStart))
	must(t, c.WriteState(TestRunning))
	for range 20 {
		if n, _, err := udp.ReadFrom(b[:]); err != nil || n != 100 || IsHello(b[:n], false) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	expect(t, c, TestEnd)
	must(t, c.WriteState(ExchangeResults))
	sent, err := c.ReadResults()
	must(t, err)
	if len(sent.Streams) != 1 || sent.Streams[0].Packets != 20 || sent.Streams[0].Bytes != 2000 {
		t.Errorf("%+v", sent)
	}
	must(t, c.WriteResults(&Results{SenderHasRetransmits: -1, Streams: []StreamResult{
		{ID: StreamID(0), Bytes: 1700, Retransmits: -1, Jitter: 0.002, Errors: 3, Packets: 20, EndTime: 0.5}}}))
	must(t, c.WriteState(DisplayResults))
	expect(t, c, IperfDone)
	must(t, c.HangUp(20*time.Second))
	if err := client.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var report struct {
		End struct {
			Sum struct {
				Lost    int     `json:"lost_packets"`
				Packets int     `json:"packets"`
				Jitter  float64 `json:"jitter_ms"`
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.End.Sum.Lost != 3 || report.End.Sum.Packets != 20 || report.End.Sum.Jitter != 2 {
		t.Errorf("%v, %+v in %s", err, report, out)
	}
}
