package iperf3

import (
	"bytes"
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
func dial(t *testing.T, l *lab.Lab) (*Conn, Cookie) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		cookie := NewCookie()
		c, err := tryDial(l, cookie)
		if err == nil {
			t.Cleanup(func() { c.conn.Close() })
			return c, cookie
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

func tryDial(l *lab.Lab, cookie Cookie) (*Conn, error) {
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
	if err = c.WriteCookie(cookie); err == nil {
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

// accept takes a connection of iperf3's at b and its cookie.
func accept(t *testing.T, l net.Listener) (*Conn, Cookie) {
	t.Helper()
	l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	conn, err := l.Accept()
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	c := NewConn(conn)
	c.Patience = patient
	cookie, err := c.ReadCookie()
	must(t, err)
	return c, cookie
}

func askParams(t *testing.T, c *Conn) *Params {
	t.Helper()
	must(t, c.WriteState(ParamExchange))
	p, err := c.ReadParams()
	must(t, err)
	return p
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
