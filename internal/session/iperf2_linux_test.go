package session

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// collector keeps the reports of a server.
type collector struct {
	mu      sync.Mutex
	reports []*result.Report
}

func (c *collector) Started(*result.Report)                    {}
func (c *collector) Interval(*result.Report, *result.Interval) {}
func (c *collector) Progress(string)                           {}
func (c *collector) Ended(r *result.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, r)
}

// serveIPerf2 serves UDP on a host until end is called, which waits for so many reports
// and returns all.
func serveIPerf2(t *testing.T, h *lab.Host) (end func(reports int) []*result.Report) {
	t.Helper()
	return serveIPerf2At(t, h, netip.MustParseAddrPort("[::]:5001"), "", netip.Addr{})
}

// serveIPerf2At is serveIPerf2 at an address, which may be a group.
func serveIPerf2At(t *testing.T, h *lab.Host, at netip.AddrPort, device string, source netip.Addr) (end func(reports int) []*result.Report) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var l *IPerf2Listener
	check(t, h.Do(func() (err error) {
		l, err = ListenIPerf2(ctx, at, device, source, 4<<20)
		return err
	}))
	var c collector
	var flows sync.WaitGroup
	accepting := make(chan error, 1)
	go func() {
		accepting <- h.Do(func() error {
			for {
				f, err := l.Accept(ctx)
				if err != nil {
					return err
				}
				flows.Go(func() {
					if err := h.Do(func() error {
						return ServeIPerf2(ctx, f, IPerf2Options{Version: "test", Interval: time.Second, Window: 4 << 20}, &c)
					}); err != nil && ctx.Err() == nil {
						t.Errorf("serve: %v", err)
					}
				})
			}
		})
	}()
	return func(reports int) []*result.Report {
		await(t, "the reports", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.reports) >= reports
		})
		stop()
		if err := <-accepting; err != context.Canceled {
			t.Errorf("accept: %v", err)
		}
		check(t, l.Close())
		flows.Wait()
		return c.reports
	}
}

// stockClient runs iperf -c with arguments and returns what it prints; with -V over
// IPv6.
func stockClient(t *testing.T, l *lab.Lab, args string) string {
	t.Helper()
	host := l.B().Addr4
	if strings.Contains(args, "-V") {
		host = l.B().Addr6
	}
	// The kernel drops some of what waits for a neighbour's first answer, and sends the
	// rest behind what comes after.
	check(t, l.A().Run(exec.Command("ping", "-c", "1", "-W", "5", host.String())))
	return stockClientOf(t, l, host.String(), args)
}

func stockClientOf(t *testing.T, l *lab.Lab, host, args string) string {
	t.Helper()
	cmd := exec.Command("iperf", append([]string{"-c", host}, strings.Fields(args)...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	check(t, l.A().Run(cmd))
	return out.String()
}

// numbers are what a pattern's groups match in the last place of a text.
func numbers(t *testing.T, pattern, text string) []uint64 {
	t.Helper()
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if all == nil {
		t.Fatalf("nothing matches %s in\n%s", pattern, text)
	}
	var n []uint64
	for _, s := range all[len(all)-1][1:] {
		v, err := strconv.ParseUint(s, 10, 64)
		check(t, err)
		n = append(n, v)
	}
	return n
}

// A stock client prints a report that is ours, and true, whatever its options and
// whatever the wire does: the wire counts for itself.
func TestIPerf2ServesStockUDPClients(t *testing.T) {
	t.Parallel()
	const sent, report = `Sent (\d+) datagrams`, `ms (\d+)/(\d+) \(`
	lossy := &lab.Impairment{Port: 5001, DropEvery: 50, DupEvery: 31}
	for _, c := range []struct {
		args   string
		impair *lab.Impairment
	}{
		{"-u -b 4m -t 0.2", nil},
		{"-u -b 4m -t 0.2 -i 0.1", lossy},
		{"-u -b 1m -t 0.2 -l 64 -e", lossy},
		{"-u -b 4m -t 0.2", &lab.Impairment{Port: 5001, DelayEvery: 40}},
		{"-u -b 20m -t 0.2 -l 512 --trip-times", nil},
		{"-u -n 100K -b 10m", nil},
		{"-V -u -b 4m -t 0.2", nil},
		{"-u -b 2000pps -t 0.2", &lab.Impairment{Port: 5001, DropFrom: 100, DropTo: 300}},
	} {
		t.Run(c.args, func(t *testing.T) {
			l, err := lab.New(lab.Config{Impair: c.impair, Delay: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			end := serveIPerf2(t, l.B())
			out := stockClient(t, l, c.args)
			reports := end(1)
			if len(reports) != 1 {
				t.Fatalf("%d reports, want 1\n%s", len(reports), out)
			}
			r := reports[0].Receiver
			// The client counts its FIN, and once more.
			n := numbers(t, sent, out)[0] - 2
			if r.Unique+r.Lost != n || r.LossIsLowerBound {
				t.Errorf("%d arrived and %d lost of %d\n%s", r.Unique, r.Lost, n, out)
			}
			if said := numbers(t, report, out); said[0] != r.Lost || said[1] != n+1 {
				t.Errorf("the client prints %d of %d lost, the report has %d of %d and a FIN\n%s", said[0], said[1], r.Lost, n, out)
			}
			if strings.Contains(out, "WARN") {
				t.Errorf("the client warns:\n%s", out)
			}
			wire := lab.Impairment{}
			if c.impair != nil {
				wire = *c.impair
			}
			want := expected(n, 1, &wire)
			if wire.DelayEvery > 0 {
				did, _, err := l.Impaired()
				check(t, err)
				if r.Reordered == 0 || r.Reordered > did.Delayed {
					t.Errorf("%d reordered, the wire held back %d", r.Reordered, did.Delayed)
				}
				r.Reordered = 0
			}
			if r.Lost != want.Lost || r.Duplicates != want.Duplicates || r.Reordered != want.Reordered || r.Packets != want.Packets {
				t.Errorf("%d packets, %d lost, %d duplicates, %d reordered, want %+v\n%s",
					r.Packets, r.Lost, r.Duplicates, r.Reordered, want, out)
			}
		})
	}
}

// Of several flows, and where the server sends, both ends have the same counts.
func TestIPerf2ServesStockUDPClientsBothWays(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		args       string
		sent, came int // flows of the client with such lines
		reports    int
	}{
		{"-P 16", 16, 0, 16},
		{"-R", 0, 1, 1},
		{"--full-duplex", 1, 1, 1},
		{"-d", 1, 1, 1},
		{"-r", 1, 1, 2},
		{"--no-udp-fin", 1, 0, 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			end := serveIPerf2(t, l.B())
			out := stockClient(t, l, "-u -b 4m -t 0.2 "+c.args)
			reports := end(c.reports)
			if len(reports) != c.reports {
				t.Fatalf("%d reports, want %d\n%s", len(reports), c.reports, out)
			}
			var sent, came []uint64 // by the server's account
			for _, r := range reports {
				back := r.Reverse
				if r.Config.Direction == reverse {
					back = &result.Direction{Sender: r.Sender, Receiver: r.Receiver}
				} else {
					came = append(came, r.Receiver.Unique)
					if r.Receiver.Lost+r.Receiver.Duplicates != 0 || r.Receiver.LossIsLowerBound {
						t.Errorf("on a clean wire: %+v", r.Receiver.ArrivedPackets)
					}
				}
				if back != nil {
					sent = append(sent, back.Sender.Packets)
					if back.Receiver != nil && (back.Receiver.Unique != back.Sender.Packets || back.Receiver.Lost != 0) {
						t.Errorf("of %d sent the client reports %+v", back.Sender.Packets, back.Receiver.ArrivedPackets)
					}
				}
			}
			said := func(pattern string, extra uint64) (n []uint64) {
				for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(out, -1) {
					v, _ := strconv.ParseUint(m[1], 10, 64)
					n = append(n, v-extra)
				}
				return n
			}
			for _, w := range []struct {
				what         string
				flows        int
				ours, theirs []uint64
			}{
				{"the client sent", c.sent, came, said(`\[ *\d+\] Sent (\d+) datagrams`, 2)},
				{"the client received", c.came, sent, said(map[bool]string{
					true: `\[ \*1\] .* ms 0/(\d+) \(`, false: `\[  2\] .* ms 0/(\d+) \(`,
				}[strings.HasPrefix(c.args, "-R") || c.args == "--full-duplex"], 1)},
			} {
				if w.flows == 0 {
					continue
				}
				slices.Sort(w.ours)
				slices.Sort(w.theirs)
				if !slices.Equal(w.ours, w.theirs) || len(w.ours) != w.flows {
					t.Errorf("%s %v, by the server's account %v\n%s", w.what, w.theirs, w.ours, out)
				}
			}
			if strings.Contains(out, "WARN") {
				t.Errorf("the client warns:\n%s", out)
			}
		})
	}
}

// What is no test at the port begins none and draws no answer.
func TestIPerf2IgnoresJunk(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := serveIPerf2(t, l.B())
	random := rand.NewChaCha8([32]byte{1})
	fin := (&probe.Stamper{Format: probe.IPerf2}).AppendFIN(nil, 200, 7, 0, 1)
	check(t, l.A().Do(func() error {
		c, err := net.Dial("udp", netip.AddrPortFrom(l.B().Addr4, 5001).String())
		if err != nil {
			return err
		}
		defer c.Close()
		for _, b := range [][]byte{fin, {1}, make([]byte, 15), make([]byte, 1400), []byte("GET / HTTP/1.1\r\n\r\n")} {
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		for i := range 2000 {
			b := make([]byte, i%300)
			random.Read(b)
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		if err := c.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			return err
		}
		if n, err := c.Read(make([]byte, 2000)); err == nil {
			t.Errorf("%d bytes in answer to junk", n)
		}
		return nil
	}))
	if reports := end(0); len(reports) != 0 {
		t.Errorf("junk made %d reports: %+v", len(reports), reports[0])
	}
}
