package tcp

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linerate/internal/lab"
	"linerate/internal/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPort = 5201

// A line is two hosts with a connection between them.
type line struct {
	*lab.Lab
	client *net.TCPConn // of host a
	server *net.TCPConn // of host b
	took   time.Duration
}

func newLab(t testing.TB, c lab.Config) *lab.Lab {
	t.Helper()
	l, err := lab.New(c)
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

// connect makes a connection from a to b, at one of the addresses of b.
func connect(t testing.TB, l *lab.Lab, to netip.Addr, client, server Options) *line {
	t.Helper()
	return connectTo(t, l, to, to, client, server)
}

// connectTo is the same to a listener at another address, an unspecified one.
func connectTo(t testing.TB, l *lab.Lab, listening, to netip.Addr, client, server Options) *line {
	t.Helper()
	c := &line{Lab: l}
	at := netip.AddrPortFrom(to, testPort)
	var listener *net.TCPListener
	check(t, l.B().Do(func() (err error) {
		listener, err = Listen(t.Context(), netip.AddrPortFrom(listening, testPort), server)
		return err
	}))
	defer listener.Close()
	check(t, l.A().Do(func() (err error) {
		c.client, c.took, err = Dial(t.Context(), netip.AddrPort{}, at, client)
		return err
	}))
	t.Cleanup(func() { c.client.Close() })
	check(t, listener.SetDeadline(time.Now().Add(5*time.Second)))
	var err error
	c.server, err = listener.AcceptTCP()
	check(t, err)
	t.Cleanup(func() { c.server.Close() })
	check(t, Apply(c.server, server))
	return c
}

func newLine(t testing.TB, client, server Options) *line {
	t.Helper()
	l := newLab(t, lab.Config{})
	return connect(t, l, l.B().Addr4, client, server)
}

// arrival is what a receiver made of a stream.
type arrival struct {
	*Receiver
	ended bool
	err   error
}

// receive runs a receiver until it ends by itself.
func receive(r *Receiver) <-chan arrival {
	done := make(chan arrival, 1)
	go func() {
		ended, err := r.Run(context.Background())
		done <- arrival{r, ended, err}
	}()
	return done
}

func ramp(t testing.TB) probe.Pattern {
	t.Helper()
	p, err := probe.ParsePattern("ramp")
	check(t, err)
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
