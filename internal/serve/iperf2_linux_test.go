package serve

import (
	"context"
	"net/netip"
	"os/exec"
	"sync"
	"testing"
	"time"

	"linerate/internal/result"
	"linerate/internal/session"
)

// loopback is a port that the stock client is told to use; the tests of the
// protocol itself run in a lab.
const loopback = "127.0.0.1:15001"

type recorder struct {
	ended []*result.Report // calls come one at a time
}

func (*recorder) Started(*result.Report)                    {}
func (*recorder) Interval(*result.Report, *result.Interval) {}
func (*recorder) Progress(string)                           {}
func (r *recorder) Ended(rep *result.Report)                { r.ended = append(r.ended, rep) }

// serving serves on the loopback interface.
func serving(t *testing.T, ctx context.Context, s IPerf2) (r *recorder, done chan error) {
	t.Helper()
	s.Local, s.UDP, s.TCP = netip.MustParseAddrPort(loopback), true, true
	s.IPerf2Options = session.IPerf2Options{Version: "test"}
	l, err := s.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if l.Window() <= 0 {
		t.Errorf("a window of %d bytes", l.Window())
	}
	r, done = &recorder{}, make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, r) }()
	return r, done
}

func client(t *testing.T, args ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, "iperf", append([]string{"-c", "127.0.0.1", "-p", "15001"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// UDP and TCP are served at once, and after so many clients no more.
func TestIPerf2EndsAfterItsClients(t *testing.T) {
	r, done := serving(t, t.Context(), IPerf2{Clients: 2})
	var clients sync.WaitGroup
	clients.Go(func() { client(t, "-u", "-n", "20k", "-b", "1m") })
	clients.Go(func() { client(t, "-n", "300k") })
	clients.Wait()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still serves")
	}
	protocols := map[string]bool{}
	for _, rep := range r.ended {
		protocols[rep.Config.Protocol] = rep.Receiver.PayloadBytes > 0
	}
	if len(r.ended) != 2 || !protocols["udp"] || !protocols["tcp"] {
		t.Errorf("reports of %v", protocols)
	}
}

func TestIPerf2LetsNobodyElseIn(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, done := serving(t, ctx, IPerf2{Allow: func(a netip.Addr) bool { return a != netip.MustParseAddr("127.0.0.1") }})
	client(t, "-u", "-n", "5k", "-b", "1m", "--no-udp-fin")
	client(t, "-n", "10k")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(r.ended) != 0 {
		t.Errorf("%d tests", len(r.ended))
	}
}
