// Package serve waits for tests and answers them: it accepts, decides what a
// client may ask for, and hands each test to a session. Many run at once.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/tcp"
)

// A Config says where to serve and what a client may ask for.
type Config struct {
	Local    netip.AddrPort // an unspecified address for any; :: for IPv4 as well
	IPv6Only bool           // IPv4 is another server's
	Device   string         // interface to keep to; empty for none
	Version  string
	Interval time.Duration // of reports of tests whose client asks for none

	MaxRate     uint64        // bit/s of payload of a test; 0 for any
	MaxDuration time.Duration // of a test; 0 for any
	MaxTests    int           // at once; what comes more is told that the server is busy
	Allow       []netip.Prefix
	Gate        *iperf3.Gate                // asks for a login; nil for none
	Output      func(*result.Report) string `json:"-"` // makes what a client reads that asks for the server's output; nil for nothing
	Tests       int                         // after so many, failed ones too, the server ends; 0 for never
}

// An Observer sees what a server does. It may be called from many goroutines.
type Observer interface {
	// Listening tells where the server can be reached.
	Listening(netip.AddrPort)
	// Test begins to observe a test of a client, the number-th.
	Test(client netip.AddrPort, number int) session.Observer
	// Done has what a test measured; nil and why if it never began.
	Done(client netip.AddrPort, number int, rep *result.Report, err error)
}

// A Server answers iperf3's clients and linerate's, over TCP and UDP of one port.
type Server struct {
	Config
	o       Observer
	tcp     *net.TCPListener
	udp     *udpListener
	pending pending

	mu     sync.Mutex
	tests  map[iperf3.Cookie]*doorman
	number int // of tests so far
	done   int // of these
}

// Open binds the server's sockets.
func Open(ctx context.Context, c Config, o Observer) (*Server, error) {
	s := &Server{Config: c, o: o, tests: make(map[iperf3.Cookie]*doorman)}
	var err error
	if s.tcp, err = listenTCP(ctx, c); err != nil {
		return nil, err
	}
	s.Local = s.tcp.Addr().(*net.TCPAddr).AddrPort()
	if s.udp, err = listenUDP(ctx, s.Config); err != nil {
		s.tcp.Close()
		return nil, err
	}
	return s, nil
}

const (
	// firstPatience is how long a client may take over each of its first words.
	firstPatience = 10 * time.Second
	// hangUpPatience is how long a client may take to end its side of a connection.
	hangUpPatience = 2 * time.Second
	// mostJSON is the bytes of JSON that a client may say at once: the results of
	// 256 streams are a tenth of it.
	mostJSON = 1 << 20
	// stopPatience is how long tests may take to end when the server is stopped.
	stopPatience = 1200 * time.Millisecond
	// placePatience is how long a client waits for another's place, and placePause
	// how often it looks.
	placePatience, placePause = 500 * time.Millisecond, 10 * time.Millisecond
	// acceptPause keeps a server that can accept nothing from spinning.
	acceptPause = 10 * time.Millisecond
)

// Serve answers until ctx ends or as many tests as were asked for are done. It
// waits for the tests that run.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		s.tcp.Close()
		s.udp.close()
	})()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.udp.serve(s.hello) })
	s.o.Listening(s.Local)
	for arrival := 0; ; arrival++ {
		conn, err := s.tcp.AcceptTCP()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			// Out of descriptors, or a client that went away while it waited.
			time.Sleep(acceptPause)
			continue
		}
		s.pending.add(conn)
		all.Go(func() { s.receive(ctx, conn, arrival, stop) })
	}
}

// receive hears who is there: the client of a new test, or a data connection of
// one that runs. arrival counts what the server accepted.
func (s *Server) receive(ctx context.Context, conn *net.TCPConn, arrival int, stop context.CancelFunc) {
	defer s.pending.remove(conn)
	control := iperf3.NewConn(conn)
	control.MostJSON = mostJSON
	control.Patience = iperf3.Patience{First: firstPatience, Whole: firstPatience}
	defer hurry(ctx, control)()
	client := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	if !s.Allowed(client.Addr()) {
		conn.Close()
		return
	}
	cookie, err := control.ReadCookie()
	if err != nil {
		conn.Close() // a port scan or a health check: none of our business
		return
	}
	d, number := s.place(ctx, cookie, client.Addr())
	switch {
	case d == nil, number == 0 && !d.admit(conn, arrival):
		_ = control.WriteState(iperf3.AccessDenied) // or it is gone
		_ = control.HangUp(hangUpPatience)
	case number > 0:
		s.pending.remove(conn)
		rep, err := s.answer(ctx, conn, control, d, number)
		s.o.Done(client, number, rep, err)
		if last := s.end(cookie); last {
			stop()
		}
		_ = control.HangUp(hangUpPatience)
	}
}

// hurry ends what waits for a client's word when ctx ends, and soon afterwards the
// connection, until the function that it returns is called.
func hurry(ctx context.Context, control *iperf3.Conn) (calm func()) {
	over := context.AfterFunc(ctx, func() {
		control.Interrupt()
		time.AfterFunc(stopPatience, func() { control.HangUp(0) })
	})
	return func() { over() }
}

// Allowed says whether a client of an address is served.
func (c *Config) Allowed(client netip.Addr) bool {
	if len(c.Allow) == 0 {
		return true
	}
	client = client.Unmap().WithZone("")
	for _, p := range c.Allow {
		if p.Contains(client) {
			return true
		}
	}
	return false
}

// place is test, with patience where there is no room: a client that comes as
// another leaves gets its place.
func (s *Server) place(ctx context.Context, cookie iperf3.Cookie, client netip.Addr) (d *doorman, number int) {
	for until := time.Now().Add(placePatience); ; time.Sleep(placePause) {
		d, number = s.test(cookie, client)
		if d != nil || ctx.Err() != nil || time.Now().After(until) {
			return d, number
		}
	}
}

// test finds the test that a cookie names, or begins a new one and numbers it. It
// is nil where there is no room for one more.
func (s *Server) test(cookie iperf3.Cookie, client netip.Addr) (d *doorman, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.tests[cookie]; d != nil {
		return d, 0
	}
	if s.MaxTests > 0 && len(s.tests) >= s.MaxTests || s.Tests > 0 && s.number >= s.Tests {
		return nil, 0
	}
	d = newDoorman(client, s.udp)
	s.tests[cookie] = d
	s.number++
	return d, s.number
}

// end forgets a test, and reports whether it was the last.
func (s *Server) end(cookie iperf3.Cookie) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests[cookie].close()
	delete(s.tests, cookie)
	s.done++
	return s.done == s.Tests
}

// answer hears what the client wants and runs its test.
func (s *Server) answer(ctx context.Context, conn *net.TCPConn, control *iperf3.Conn, d *doorman, number int) (*result.Report, error) {
	if err := watch(conn, false); err != nil {
		return nil, err
	}
	if err := control.WriteState(iperf3.ParamExchange); err != nil {
		return nil, err
	}
	p, err := control.ReadParams()
	switch {
	case ctx.Err() != nil:
		_ = control.WriteState(iperf3.ServerTerminate)
		return nil, session.ErrStopped
	case err != nil:
		control.Refuse(iperf3.BadParams, 0)
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if err := s.check(p); err != nil {
		var refused *iperf3.Error
		if errors.As(err, &refused) {
			control.Refuse(refused.Code, 0)
		}
		return nil, err
	}
	if len(p.Extra) > 0 {
		if err := watch(conn, true); err != nil {
			return nil, err
		}
	}
	local := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	client := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	d.local = unmapped(local)
	return session.Answer(ctx, &session.Call{
		Conn: control, Params: p, Local: d.local, Remote: unmapped(client), Doorman: d,
		Version: s.Version, Interval: s.Interval, Output: s.Output, MaxTime: s.maxTime(p), MaxRate: s.MaxRate,
	}, s.o.Test(client, number))
}

// watch lets the kernel notice that a client vanished.
func watch(conn *net.TCPConn, linerate bool) error {
	if err := conn.SetKeepAliveConfig(session.KeepAlive); err != nil {
		return err
	}
	err := tcp.Apply(conn, tcp.Options{NoDelay: true, UserTimeout: session.Unacknowledged(linerate)})
	if errors.Is(err, errors.ErrUnsupported) {
		return conn.SetNoDelay(true) // the probes alone have to do
	}
	return err
}

// check refuses what this server does not do.
func (s *Server) check(p *iperf3.Params) error {
	if !p.UDP && p.Len == 0 {
		p.Len = iperf3.DefaultBlockTCP
	}
	limits := iperf3.Limits{Duration: s.MaxDuration}
	if p.UDP || p.Bandwidth > 0 {
		limits.Rate = int64(s.MaxRate) // over TCP, what has no rate is paced down
	}
	if code := p.Check(limits); code != iperf3.None {
		return &iperf3.Error{Code: code}
	}
	if s.Gate == nil {
		return nil
	}
	if _, err := s.Gate.Admit(p.AuthToken, time.Now()); err != nil {
		return errors.Join(&iperf3.Error{Code: iperf3.Unauthorized}, err)
	}
	return nil
}

// watchdog is how much longer than it should a test may take.
const watchdog = 40 * time.Second

// maxTime is after how long a test is ended, whatever its client says; 0 for
// never. One that lasts as long as it may still has to end in peace.
func (s *Server) maxTime(p *iperf3.Params) time.Duration {
	if p.Time > 0 {
		return time.Duration(p.Time+p.Omit)*time.Second + watchdog
	}
	return s.MaxDuration
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
