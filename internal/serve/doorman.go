package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"linerate/internal/iperf3"
)

// A doorman holds the data connections of one test until the test takes them.
type doorman struct {
	client netip.Addr
	local  netip.AddrPort // this end of the control connection
	udp    *udpListener
	conns  chan arrived
	hellos chan netip.AddrPort
	closed chan struct{}
	once   sync.Once

	missing int                     // hellos that have not come; the listener's lock guards it
	greeted map[netip.AddrPort]bool // whose hello came; likewise
	quiet   []func()                // end the answers to repeated hellos
}

// arrived is a data connection. Each is heard on a goroutine of its own, so that a
// later one may be admitted first.
type arrived struct {
	conn   *net.TCPConn
	number int // in the order in which the server accepted
}

// mostWaiting is how many connections of a test may wait to be taken.
const mostWaiting = 256

func newDoorman(client netip.Addr, udp *udpListener) *doorman {
	return &doorman{
		client: client.Unmap(), udp: udp,
		conns: make(chan arrived, mostWaiting), hellos: make(chan netip.AddrPort, mostWaiting), closed: make(chan struct{}),
		greeted: make(map[netip.AddrPort]bool),
	}
}

var errOver = errors.New("the test is over")

// admit takes a data connection; false if the test has no more room for it.
func (d *doorman) admit(conn *net.TCPConn, number int) bool {
	if conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() != d.client {
		return false
	}
	select {
	case <-d.closed:
		return false
	case d.conns <- arrived{conn, number}:
		return true
	default:
		return false
	}
}

// TCP implements session.Doorman.
func (d *doorman) TCP(ctx context.Context, streams int) (conns []*net.TCPConn, err error) {
	var all []arrived
	for len(all) < streams && err == nil {
		select {
		case a := <-d.conns:
			all = append(all, a)
		case <-d.closed:
			err = errOver
		case <-ctx.Done():
			err = fmt.Errorf("the client opened %d of %d data connections", len(all), streams)
		}
	}
	slices.SortFunc(all, func(a, b arrived) int { return cmp.Compare(a.number, b.number) })
	for _, a := range all {
		conns = append(conns, a.conn)
	}
	return conns, err
}

// Expect implements session.Doorman.
func (d *doorman) Expect(ctx context.Context, streams int) error {
	for !d.udp.await(d, streams) {
		select {
		case <-ctx.Done():
			return errors.New("another test of this client is opening its streams")
		case <-time.After(turnPause):
		}
	}
	return nil
}

// turnPause is how often a test asks whether it is its turn.
const turnPause = 10 * time.Millisecond

// UDP implements session.Doorman.
func (d *doorman) UDP(ctx context.Context) (*net.UDPConn, error) {
	select {
	case from := <-d.hellos:
		conn, err := d.udp.claim(ctx, d.local, from)
		if err == nil {
			d.quiet = append(d.quiet, answerAgain(conn))
		}
		return conn, err
	case <-d.closed:
		return nil, errOver
	case <-ctx.Done():
		return nil, errors.New("no hello came over UDP: a firewall may hold UDP back")
	}
}

// Quiet implements session.Doorman.
func (d *doorman) Quiet() {
	for _, quiet := range d.quiet {
		quiet()
	}
	d.quiet = nil
}

// answerAgain answers each datagram that comes to a stream's socket: a hello whose
// answer was lost. It does so until the function that it returns is called.
func answerAgain(conn *net.UDPConn) (quiet func()) {
	done := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(done)
		var b [64]byte
		for {
			_, err := conn.Read(b[:])
			select {
			case <-over:
				return
			default:
			}
			switch {
			case err == nil:
				conn.Write([]byte(iperf3.Reply))
			case errors.Is(err, net.ErrClosed):
				return
			}
		}
	}()
	return func() {
		close(over)
		conn.SetReadDeadline(time.Now())
		<-done
		conn.SetReadDeadline(time.Time{})
	}
}

// close turns away whoever still waits.
func (d *doorman) close() {
	d.udp.leave(d)
	d.Quiet()
	d.once.Do(func() { close(d.closed) })
	for {
		select {
		case a := <-d.conns:
			a.conn.Close()
		default:
			return
		}
	}
}
