package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
)

// serveIPerf2TCP serves TCP on a host until end is called, which returns all
// reports.
func serveIPerf2TCP(t *testing.T, h *lab.Host) (end func() []*result.Report) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var l *net.TCPListener
	check(t, h.Do(func() (err error) {
		l, err = tcp.Listen(ctx, netip.MustParseAddrPort("[::]:5001"), tcp.Options{})
		return err
	}))
	var c collector
	var streams sync.WaitGroup
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			streams.Go(func() {
				if err := h.Do(func() error {
					return ServeIPerf2TCP(ctx, conn, IPerf2Options{Version: "test", Interval: time.Second}, &c)
				}); err != nil && !errors.Is(err, ErrNoIPerf2) {
					t.Errorf("serve: %v", err)
				}
			})
		}
	}()
	return func() []*result.Report {
		check(t, l.Close())
		<-accepting
		streams.Wait()
		stop()
		return c.reports
	}
}

// bytesOf are the amounts that a stock program printed with -f b.
func bytesOf(t *testing.T, out string) (n []uint64) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\[[ *]*\d+\] 0.0000-.* sec +(\d+) Bytes`).FindAllStringSubmatch(out, -1) {
		n = append(n, numbers(t, `(\d+)`, m[1])[0])
	}
	return n
}

// Both ends of each stream count the same bytes, the header's among them.
func TestIPerf2ServesStockTCPClients(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range []string{
		"-b 50m", "-n 3m", "-X", "-C -n 1m", "-l 20 -n 20k", "-P 4 -n 500k", "-R -b 50m", "--full-duplex -b 20m", "-d -b 20m", "-r -b 20m",
		"--trip-times -b 20m", "-V -n 1m",
	} {
		t.Run(args, func(t *testing.T) {
			end := serveIPerf2TCP(t, l.B())
			out := stockClient(t, l, "-f b -t 0.2 "+args)
			reports := end()
			var ours []uint64
			for _, r := range reports {
				for _, d := range []*result.Direction{{Sender: r.Sender, Receiver: r.Receiver}, r.Reverse} {
					if d != nil && d.Sender != nil {
						ours = append(ours, d.Sender.PayloadBytes)
					}
					if d != nil && d.Receiver != nil && d.Receiver.Source == "" {
						ours = append(ours, d.Receiver.PayloadBytes)
					}
				}
			}
			theirs := bytesOf(t, out)
			slices.Sort(ours)
			slices.Sort(theirs)
			if len(ours) == 0 || !slices.Equal(ours, theirs) {
				t.Errorf("the client counts %v bytes, the server %v\n%s", theirs, ours, out)
			}
			if strings.Contains(out, "WARN") || strings.Contains(out, "failed") {
				t.Errorf("the client is not content\n%s", out)
			}
		})
	}
}

func TestIPerf2ServesStockBounceBack(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := serveIPerf2TCP(t, l.B())
	out := stockClient(t, l, "--bounceback -t 1")
	reports := end()
	if len(reports) != 1 {
		t.Fatalf("%d reports\n%s", len(reports), out)
	}
	// The client leaves one that it gave up out of its count.
	n := numbers(t, ` (\d+)=\d`, out)[0]
	if got := reports[0].Receiver.PayloadBytes; n < 10 || got < 100*n || got > 100*(n+1) {
		t.Errorf("%d requests, %d bytes came\n%s", n, got, out)
	}
	if strings.Contains(out, "failed") {
		t.Errorf("the client is not content\n%s", out)
	}
}

// A stock server answers each request, and so does ours.
func TestIPerf2BounceClient(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const requests = 200
	ask := func(t *testing.T, host netip.Addr, size int) {
		t.Helper()
		var rep *result.Report
		check(t, l.A().Do(func() error {
			p, err := plan.ResolveTest(context.Background(), plan.TestRequest{
				SendRequest: plan.SendRequest{Host: host.String(), Port: 5001, Count: requests}, TCP: true, Bounce: size,
			})
			if err == nil {
				rep, err = IPerf2Bounce(context.Background(), p, "test", &collector{})
			}
			return err
		}))
		if b := rep.BounceNS; b.Tried != requests || b.Lost != 0 || b.PayloadBytes != size || b.Min <= 0 {
			t.Errorf("of %d bytes: %+v", size, b)
		}
	}
	for _, size := range []int{iperf2.BounceBackSize, 100, iperf2.StockBounceBack} {
		end := stockServer(t, l, "-f b")
		ask(t, l.B().Addr4, size)
		// It counts what came and what it answered.
		out := end()
		if got := bytesOf(t, out); len(got) != 1 || got[0] != uint64(2*requests*size) {
			t.Errorf("the server counts %v bytes of %d requests of %d and their answers\n%s", got, requests, size, out)
		}
	}
	end := serveIPerf2TCP(t, l.B())
	ask(t, l.B().Addr6, 100)
	if reports := end(); len(reports) != 1 || reports[0].Receiver.PayloadBytes != 100*requests {
		t.Errorf("our server's reports: %+v", reports)
	}
}

// What is no iperf 2 is dropped, and begins no test.
func TestIPerf2DropsOtherProtocols(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := serveIPerf2TCP(t, l.B())
	check(t, l.A().Do(func() error {
		for _, s := range []string{"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\xff\xff\xff\xff", "\x40\x01", "\x40\x01\x00\x78half"} {
			c, err := net.Dial("tcp", netip.AddrPortFrom(l.B().Addr4, 5001).String())
			if err != nil {
				return err
			}
			if _, err := c.Write([]byte(s)); err != nil {
				return err
			}
			_ = c.(*net.TCPConn).CloseWrite() // the server may have hung up already
			b := make([]byte, 100)
			if n, _ := c.Read(b); n > 0 {
				t.Errorf("%q is answered %x", s, b[:n])
			}
			c.Close()
		}
		return nil
	}))
	if reports := end(); len(reports) != 0 {
		t.Errorf("they made %d reports", len(reports))
	}
}

// A stock server counts what we send, and we what it sends.
func TestIPerf2ClientOfStockTCPServer(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pattern, err := probe.ParsePattern("random")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		s    iperf2.Settings
	}{
		{"forward", iperf2.Settings{Duration: 200 * time.Millisecond, Rate: 50_000_000}},
		{"bytes", iperf2.Settings{Bytes: 3_000_000}},
		{"-X", iperf2.Settings{Bytes: 3_000_000, PeerDetect: true}},
		{"-P 4", iperf2.Settings{Flows: 4, Bytes: 500_000}},
		{"-V", iperf2.Settings{Bytes: 3_000_000}},
		{"-V -R", iperf2.Settings{Mode: iperf2.Reverse, Duration: 200 * time.Millisecond, Rate: 50_000_000}},
		{"-R", iperf2.Settings{Mode: iperf2.Reverse, Duration: 200 * time.Millisecond, Rate: 50_000_000}},
		{"--full-duplex", iperf2.Settings{Mode: iperf2.FullDuplex, Duration: 200 * time.Millisecond, Rate: 50_000_000}},
		{"-d", iperf2.Settings{Mode: iperf2.Dual, Duration: 200 * time.Millisecond, Rate: 50_000_000, Port: 5001}},
		{"-r", iperf2.Settings{Mode: iperf2.Tradeoff, Duration: 200 * time.Millisecond, Rate: 50_000_000, Port: 5001}},
		{"-V -r", iperf2.Settings{Mode: iperf2.Tradeoff, Duration: 200 * time.Millisecond, Rate: 50_000_000, Port: 5001}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, host := "-f b", l.B().Addr4
			if strings.HasPrefix(c.name, "-V") {
				args, host = args+" -V", l.B().Addr6
			}
			end := stockServer(t, l, args)
			var got collector
			check(t, l.A().Do(func() error {
				return IPerf2TCP(context.Background(), IPerf2TCPRequest{
					IPerf2Options: IPerf2Options{Version: "test", Interval: 100 * time.Millisecond},
					Peer:          netip.AddrPortFrom(host, 5001), Settings: c.s, Pattern: pattern,
				}, &got)
			}))
			out := end()
			var ours []uint64
			for _, r := range got.reports {
				for _, d := range []*result.Direction{{Sender: r.Sender, Receiver: r.Receiver}, r.Reverse} {
					if d != nil && d.Sender != nil {
						ours = append(ours, perFlow(d.Sender)...)
					}
					if d != nil && d.Receiver != nil && d.Receiver.Source == "" {
						ours = append(ours, d.Receiver.PayloadBytes)
					}
				}
			}
			theirs := bytesOf(t, out)
			slices.Sort(ours)
			slices.Sort(theirs)
			if len(ours) == 0 || !slices.Equal(ours, theirs) {
				t.Errorf("the server counts %v bytes, the client %v\n%s", theirs, ours, out)
			}
			if strings.Contains(out, "WARN") || strings.Contains(out, "failed") {
				t.Errorf("the server is not content\n%s", out)
			}
		})
	}
}

func perFlow(s *result.Sender) (n []uint64) {
	if len(s.Flows) == 0 {
		return []uint64{s.PayloadBytes}
	}
	for _, f := range s.Flows {
		n = append(n, f.PayloadBytes)
	}
	return n
}
