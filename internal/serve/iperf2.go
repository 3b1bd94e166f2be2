package serve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/session"
	"linerate/internal/tcp"
)

// An IPerf2 is a server for iperf 2's clients, over UDP, TCP or both at once.
type IPerf2 struct {
	session.IPerf2Options
	Local    netip.AddrPort // :: is any address of either version
	Device   string         // interface to keep to; empty for any
	Source   netip.Addr     // of a group that Local is, the only one to hear; else not valid
	UDP, TCP bool
	// Most is the most tests at once, and Clients after how many flows or streams
	// the server ends; 0 for no limit of either.
	Most, Clients int
	// Allow says who may ask for a test; nil lets all, of whom over UDP none should be
	// sent data (ReceiveOnly).
	Allow func(netip.Addr) bool
	// Refused is told why a client got no test, from any goroutine.
	Refused func(error)
}

// Listen opens the sockets. Those belong to the calling thread's network
// namespace, and so do all that serving opens.
func (s *IPerf2) Listen(ctx context.Context) (*IPerf2Sockets, error) {
	var l IPerf2Sockets
	var err error
	if s.UDP {
		if l.udp, err = session.ListenIPerf2(ctx, s.Local, s.Device, s.Source, s.Window); err != nil {
			return nil, plan.OpenError(err)
		}
	}
	if s.TCP {
		l.tcp, err = tcp.Listen(ctx, s.Local, tcp.Options{Window: s.Window, Device: s.Device})
		if err != nil {
			l.Close()
			return nil, plan.OpenError(err)
		}
	}
	return &l, nil
}

// IPerf2Sockets are where a server waits.
type IPerf2Sockets struct {
	udp *session.IPerf2Listener
	tcp *net.TCPListener
}

// Window is the receive buffer of the sockets in bytes, as getsockopt tells it; 0
// where that is not known.
func (l *IPerf2Sockets) Window() int {
	if l.udp != nil {
		return receiveBuffer(l.udp.Conn())
	}
	return receiveBuffer(l.tcp)
}

// Close stops waiting.
func (l *IPerf2Sockets) Close() error {
	var errs []error
	if l.udp != nil {
		errs = append(errs, l.udp.Close())
	}
	if l.tcp != nil {
		errs = append(errs, l.tcp.Close())
	}
	return errors.Join(errs...)
}

// Serve serves until ctx ends, the limit of clients is reached, or a socket fails.
// It closes the sockets, and returns once all tests have ended.
func (s *IPerf2) Serve(ctx context.Context, l *IPerf2Sockets, o session.ServerObserver) error {
	accept, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(accept, func() { l.Close() })()
	r := iperf2Run{server: s, sockets: l, o: o}
	if s.Most > 0 {
		r.slots = make(chan struct{}, s.Most)
	}
	var accepting sync.WaitGroup
	failed := make([]error, 2)
	if l.udp != nil {
		accepting.Go(func() {
			defer stop()
			failed[0] = r.acceptUDP(ctx)
		})
	}
	if l.tcp != nil {
		accepting.Go(func() {
			defer stop()
			failed[1] = r.acceptTCP(ctx)
		})
	}
	accepting.Wait()
	r.tests.Wait()
	return errors.Join(failed...)
}

// iperf2Run is a server at work.
type iperf2Run struct {
	server  *IPerf2
	sockets *IPerf2Sockets
	slots   chan struct{} // nil for any number of tests at once
	tests   sync.WaitGroup

	mu      sync.Mutex // for o, whose calls come one at a time
	o       session.ServerObserver
	clients int
}

func (r *iperf2Run) acceptUDP(ctx context.Context) error {
	for {
		f, err := r.sockets.udp.Accept(ctx)
		var one *session.FlowError
		switch {
		case errors.As(err, &one):
			r.refused(err)
			continue
		case err != nil:
			return unlessClosed(ctx, err)
		}
		r.begin(ctx, f.From(), f.Close, func(o session.ServerObserver) error {
			return session.ServeIPerf2(ctx, f, r.server.IPerf2Options, o)
		})
	}
}

func (r *iperf2Run) acceptTCP(ctx context.Context) error {
	for {
		conn, err := r.sockets.tcp.AcceptTCP()
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil
		case err != nil: // out of descriptors, or a client that went away while it waited
			time.Sleep(acceptPause)
			continue
		}
		from := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		r.begin(ctx, from, conn.Close, func(o session.ServerObserver) error {
			return session.ServeIPerf2TCP(ctx, conn, r.server.IPerf2Options, o)
		})
	}
}

// unlessClosed is why a listener failed; nil if it was closed.
func unlessClosed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// begin runs a client's test once there is room for it.
func (r *iperf2Run) begin(ctx context.Context, from netip.AddrPort, drop func() error, run func(session.ServerObserver) error) {
	if allow := r.server.Allow; allow != nil && !allow(from.Addr().Unmap()) {
		drop()
		return
	}
	if r.slots != nil {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			drop()
			return
		}
	}
	r.tests.Go(func() {
		o := &turn{run: r}
		err := run(o)
		if r.slots != nil {
			<-r.slots
		}
		if err != nil && ctx.Err() == nil {
			r.refused(err)
		}
		if o.ended {
			r.served()
		}
	})
}

func (r *iperf2Run) refused(err error) {
	if r.server.Refused != nil {
		r.server.Refused(err)
	}
}

// served counts a client, and lets no more in after the last.
func (r *iperf2Run) served() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients++; r.clients == r.server.Clients {
		r.sockets.Close()
	}
}

// A turn is the observer of one of several tests at once.
type turn struct {
	run   *iperf2Run
	ended bool // with a report
}

func (t *turn) Started(r *result.Report) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.o.Started(r)
}

func (t *turn) Interval(r *result.Report, iv *result.Interval) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.o.Interval(r, iv)
}

// Progress is shown for a single test alone.
func (t *turn) Progress(string) {}

func (t *turn) Ended(r *result.Report) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.o.Ended(r)
	t.ended = true
}
