package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"linerate/gen"
	"linerate/internal/iperf2"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// stockServer runs iperf -s on host b until end is called, which returns what it
// printed.
func stockServer(t *testing.T, l *lab.Lab, args string) (end func() string) {
	t.Helper()
	cmd := exec.Command("stdbuf", append([]string{"-oL", "iperf", "-s"}, strings.Fields(args)...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	stop, err := l.B().Background(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(args, "-u") {
		awaitPort(t, l.B(), 5001)
	} else {
		awaitListener(t, l.B(), 5001)
	}
	return func() string {
		stop(20 * time.Millisecond)
		return out.String()
	}
}

// awaitListener waits until something listens on a TCP port of a host.
func awaitListener(t *testing.T, h *lab.Host, port int) {
	t.Helper()
	row := regexp.MustCompile(fmt.Sprintf(":%04X 0{8,32}:0000 0A ", port))
	await(t, fmt.Sprintf("listener at %d", port), func() bool {
		var v4, v6 []byte
		check(t, h.Do(func() (err error) {
			if v4, err = os.ReadFile("/proc/thread-self/net/tcp"); err == nil {
				v6, err = os.ReadFile("/proc/thread-self/net/tcp6")
			}
			return err
		}))
		return row.Match(append(v4, v6...))
	})
}

// testIPerf2 runs a client on host a and returns its reports.
func testIPerf2(t *testing.T, l *lab.Lab, q IPerf2Request) []*result.Report {
	t.Helper()
	reports, err := tryIPerf2(t, l, q)
	check(t, err)
	return reports
}

// tryIPerf2 is testIPerf2 for a test that may fail.
func tryIPerf2(t *testing.T, l *lab.Lab, q IPerf2Request) ([]*result.Report, error) {
	t.Helper()
	var err error
	if q.Send.Pattern, err = probe.ParsePattern("random"); err != nil {
		t.Fatal(err)
	}
	if q.Send.Host == "" {
		q.Send.Host = l.B().Addr4.String()
	}
	q.Send.Port, q.Back, q.Version = 5001, 5001, "test"
	var c collector
	err = l.A().Do(func() error { return IPerf2(context.Background(), q, &c) })
	return c.reports, err
}

// lossLines are lost and total of what a stock server prints of each flow.
func lossLines(out string) (lines [][2]uint64) {
	for _, m := range regexp.MustCompile(`\[ *\d+\].* ms (\d+)/(\d+) \(`).FindAllStringSubmatch(out, -1) {
		lost, _ := strconv.ParseUint(m[1], 10, 64)
		total, _ := strconv.ParseUint(m[2], 10, 64)
		lines = append(lines, [2]uint64{lost, total})
	}
	return lines
}

// A stock server counts what every path sends, and its report is ours.
func TestIPerf2ClientOfStockUDPServer(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type test struct {
		name  string
		q     plan.SendRequest
		flows int
	}
	var tests []test // of no more packets than the server's buffer holds, however slow it is: of xdp a page each
	for _, p := range gen.Names() {
		tests = append(tests, test{"path " + p, plan.SendRequest{Path: p, Payload: 1470, Count: 40}, 1})
	}
	for _, size := range []int{18, 76, 128} {
		tests = append(tests, test{fmt.Sprintf("%d bytes", size), plan.SendRequest{Path: "udp", Payload: size, Count: 90}, 1})
	}
	v6 := plan.SendRequest{Host: l.B().Addr6.String(), Path: "packet", Payload: 1450, Count: 90}
	tests = append(tests, test{"IPv6", v6, 1})
	for _, flows := range []int{4, 16} {
		tests = append(tests, test{fmt.Sprintf("%d flows", flows), plan.SendRequest{Path: "udp", Payload: 1470, Count: uint64(50 * flows), Flows: flows}, flows})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			args := "-u"
			if c.name == "IPv6" {
				args += " -V"
			}
			end := stockServer(t, l, args)
			c.q.Rate = mustRate(t, "4kpps")
			reports := testIPerf2(t, l, IPerf2Request{Send: c.q})
			out := end()
			if len(reports) != 1 || reports[0].Receiver == nil {
				t.Fatalf("no report of the server\n%s", out)
			}
			rep := reports[0]
			sent := rep.Sender.Packets
			if sent != c.q.Count {
				t.Errorf("sent %d, want %d", sent, c.q.Count)
			}
			lines := lossLines(out)
			if len(lines) != c.flows {
				t.Fatalf("%d flows at the server, want %d\n%s", len(lines), c.flows, out)
			}
			if c.flows > 4 {
				// A busy stock server may still confuse some: then both say so.
				lost := uint64(0)
				for _, n := range lines {
					lost += n[0]
				}
				if rep.Receiver.Lost != lost || rep.Receiver.Unique+lost != sent {
					t.Errorf("the server prints %d lost, the report has %d of %d\n%s", lost, rep.Receiver.Lost, sent, out)
				}
				return
			}
			if r := rep.Receiver; r.Lost != 0 || r.Unique != sent || r.PayloadBytes != sent*uint64(c.q.Payload) {
				t.Errorf("the server reports %d arrived, %d lost, %d bytes of %d\n%s", r.Unique, r.Lost, r.PayloadBytes, sent, out)
			}
			for _, n := range lines {
				// It counts FINs, of which three come.
				if want := sent / uint64(c.flows); n[0] != 0 || n[1] != want+1 {
					t.Errorf("the server prints %d of %d lost, want none of %d and a FIN\n%s", n[0], n[1], want, out)
				}
			}
			if strings.Contains(out, "trip-times") || strings.Contains(out, "tos") {
				t.Errorf("the server takes payload for settings\n%s", out)
			}
		})
	}
}

// The modes in which a stock server sends.
func TestIPerf2ClientOfStockUDPServerBothWays(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const prints = `\[ [ *]\d\] .*/sec\s*\n(?:.*\n)*?.*Sent (\d+) datagrams`
	for _, c := range []struct {
		mode    iperf2.Mode
		both    bool // in one report
		reports int
	}{
		{iperf2.Reverse, false, 1}, {iperf2.FullDuplex, true, 1}, {iperf2.Dual, true, 1}, {iperf2.Tradeoff, false, 2},
	} {
		t.Run([]string{"forward", "-R", "--full-duplex", "-d", "-r"}[c.mode], func(t *testing.T) {
			end := stockServer(t, l, "-u")
			reports := testIPerf2(t, l, IPerf2Request{Mode: c.mode, IPerf2Options: IPerf2Options{Interval: 50 * time.Millisecond, Window: 4 << 20},
				Send: plan.SendRequest{Path: "udp", Payload: 1000, Rate: mustRate(t, "4M"), Duration: 200 * time.Millisecond}})
			out := end()
			if len(reports) != c.reports {
				t.Fatalf("%d reports, want %d\n%s", len(reports), c.reports, out)
			}
			came := reports[len(reports)-1].Receiver
			if c.both {
				came = reports[0].Reverse.Receiver
			}
			var rows uint64
			for _, iv := range reports[len(reports)-1].Intervals {
				switch {
				case c.both && iv.Receiver != nil:
					t.Errorf("a row has what came as what went: %+v", iv.Receiver)
				case iv.Reverse != nil && iv.Reverse.Receiver != nil:
					rows += iv.Reverse.Receiver.Packets
				case iv.Receiver != nil:
					rows += iv.Receiver.Packets
				}
			}
			if rows != came.Packets {
				t.Errorf("%d packets came, %d by the rows", came.Packets, rows)
			}
			// The server counts its FIN, and once more.
			sent := numbers(t, prints, out)[0] - 2
			if came.Unique != sent || came.Lost != 0 || came.Foreign != 0 || came.LossIsLowerBound {
				t.Errorf("%d arrived, %d lost, %d foreign of %d\n%s", came.Unique, came.Lost, came.Foreign, sent, out)
			}
			if c.mode != iperf2.Reverse {
				// Of the server's lines with a loss the first is of what we sent.
				if n := reports[0].Sender.Packets; n == 0 || lossLines(out)[0] != [2]uint64{0, n + 1} {
					t.Errorf("of %d sent it counts %v\n%s", n, lossLines(out), out)
				}
			}
			if strings.Contains(out, "nan") || strings.Contains(out, "WARN") {
				t.Errorf("the server is not content\n%s", out)
			}
		})
	}
}

// Nobody there is told apart from a server that answers nothing.
func TestIPerf2ClientOfNobody(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q := IPerf2Request{Send: plan.SendRequest{Path: "udp", Payload: 1000, Rate: mustRate(t, "4M"), Count: 100}}
	reports, err := tryIPerf2(t, l, q)
	var peer *plan.PeerError
	if !errors.As(err, &peer) || !strings.Contains(err.Error(), "nobody listens on its port") {
		t.Errorf("with nobody there: %v", err)
	}
	if len(reports) != 1 || reports[0].Receiver != nil || reports[0].Sender.Packets != 100 || reports[0].Error != err.Error() {
		t.Errorf("with nobody there: %+v", reports)
	}
}
