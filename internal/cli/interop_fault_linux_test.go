package cli

import (
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/result"
)

const (
	stockServer = "iperf3 -s"
	ourServer   = "linerate serve"
)

// running waits until a test runs: the middle host has seen so many datagrams.
func (s *stage) running(datagrams uint64) {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		forward, reverse := s.passed()
		if forward.Seen+reverse.Seen >= datagrams {
			return
		}
		if time.Now().After(end) {
			s.Fatal("no test begins to run")
		}
	}
}

// What a client prints of an interval: in linerate's stream, of one in which something
// was sent or arrived, and in iperf3's text.
var (
	counted       = regexp.MustCompile(`"interval":.*"payload_bytes":[1-9]`)
	stockInterval = regexp.MustCompile(`-[0-9.]+ +sec `)
)

// shows waits until a client has printed something: that it listens, or that packets
// pass, does not say how far it is.
func (p *program) shows(what *regexp.Regexp) {
	p.s.Helper()
	for end := time.Now().Add(patience); !p.out.has(what); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.s.Fatalf("%v does not print %v", p.cmd.Args, what)
		}
	}
}

// oneLine wants one line on standard error that holds some words, warnings aside.
func (p *program) oneLine(words string) {
	p.s.Helper()
	var lines []string
	for line := range strings.Lines(p.err.String()) {
		if !strings.Contains(line, "warning: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], words) {
		p.s.Errorf("%v: want one line on standard error with %q, not %q", p.cmd.Args, words, lines)
	}
}

// within wants a program to have ended in time.
func (p *program) within(limit time.Duration, want int) {
	p.s.Helper()
	begun := time.Now()
	p.exit(want)
	if took := time.Since(begun); took > limit {
		p.s.Errorf("%v took %v to end, want %v", p.cmd.Args, took, limit)
	}
}

// stopLimit is the 2 s that SIGTERM and Ctrl-C may take, and room for a machine
// that is busy with other things.
const stopLimit = 3500 * time.Millisecond

// TestStopped stops tests at either end, in every way, in either direction (rows 19
// and 33, BC-071): the client ends soon, reports what it measured, says why, and tells
// of no loss that the other end did not (BC-003).
func TestStopped(t *testing.T) {
	tests := []struct {
		name   string
		server string
		args   string
		client bool // that is stopped, not the server
		signal syscall.Signal
		status int
		within time.Duration
		says   string
	}{
		{name: "ctrl-c", server: ourServer, client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "ctrl-c in reverse", server: ourServer, args: "-R", client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "ctrl-c both ways", server: ourServer, args: "--bidir", client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "term", server: ourServer, client: true, signal: syscall.SIGTERM, status: 130, within: stopLimit},
		{name: "ctrl-c of tcp", server: ourServer, args: "--tcp -b 5M", client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "ctrl-c of tcp in reverse", server: ourServer, args: "--tcp -b 5M -R", client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "ctrl-c at stock", server: stockServer, client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "ctrl-c at stock in reverse", server: stockServer, args: "-R", client: true, signal: syscall.SIGINT, status: 130, within: stopLimit},
		{name: "server killed", server: ourServer, signal: syscall.SIGKILL, status: 1, within: stopLimit, says: "closed the control connection"},
		{name: "server killed in reverse", server: ourServer, args: "-R", signal: syscall.SIGKILL, status: 1, within: stopLimit, says: "closed the control connection"},
		{name: "stock server killed", server: stockServer, signal: syscall.SIGKILL, status: 1, within: stopLimit, says: "closed the control connection"},
		{name: "stock server killed in reverse", server: stockServer, args: "-R", signal: syscall.SIGKILL, status: 1, within: stopLimit, says: "closed the control connection"},
		{name: "server ended", server: ourServer, signal: syscall.SIGTERM, status: 1, within: stopLimit, says: "server was stopped"},
		{name: "stock server ended", server: stockServer, signal: syscall.SIGTERM, status: 1, within: stopLimit, says: "server was stopped"},
		{name: "server frozen", server: ourServer, args: "-t 2", signal: syscall.SIGSTOP, status: 1, within: 25 * time.Second, says: "within 10s"},
		{name: "stock server frozen", server: stockServer, args: "-t 2", signal: syscall.SIGSTOP, status: 1, within: 25 * time.Second, says: "within 10s"},
		{name: "stock server frozen in reverse", server: stockServer, args: "-R -t 2", signal: syscall.SIGSTOP, status: 1, within: 25 * time.Second, says: "within 10s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := s.serve(test.server)
			client := s.start(s.lab.A(), "linerate test 10.77.0.2 --json-stream -i 0.5 -b 2M -t 60 "+test.args)
			client.shows(counted)
			if !strings.Contains(test.args, "--tcp") { // whose segments are not counted
				s.running(200) // about a second: both ends are at it
			}
			stopped := server
			if test.client {
				stopped = client
			}
			stopped.signal(test.signal)
			client.within(test.within, test.status)
			ours := client.streamed()
			if ours.Config == nil {
				t.Fatalf("the test is told not to have begun: %s", ours.Error)
			}
			d := first(ours)
			if ours.Config.Direction == "reverse" {
				if d.Receiver == nil || d.Receiver.PayloadBytes == 0 {
					t.Error("nothing is told of what arrived until then")
				}
			} else if d.Sender == nil || d.Sender.PayloadBytes == 0 {
				t.Error("nothing is told of what was sent until then")
			}
			if !test.client && ours.Config.Direction == "forward" && d.Receiver != nil {
				t.Errorf("%+v is told of a receiver that told nothing", d.Receiver)
			}
			if test.says != "" {
				client.oneLine(test.says)
				if !strings.Contains(ours.Error, test.says) {
					t.Errorf("the report's error is %q", ours.Error)
				}
			}
			if test.client && test.server == ourServer && ours.Config.Protocol == "udp" {
				s.whole("stopped", d)
			}
			if test.client {
				s.client(0, "linerate test 10.77.0.2 --json -k 10 -b 2M") // the server is free again
			}
		})
	}
}

// TestStoppedBeforeItRuns stops a client whose server says nothing.
func TestStoppedBeforeItRuns(t *testing.T) {
	s := meet(t, lab.Config{})
	var l net.Listener
	if err := s.lab.B().Do(func() (err error) {
		l, err = net.Listen("tcp", "10.77.0.2:5201")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := s.start(s.lab.A(), "linerate test 10.77.0.2")
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client.signal(syscall.SIGTERM)
	client.within(stopLimit, 130)
}

// TestVanishedClient kills a stock client, or cuts the wire (row 33): our server is
// free again soon.
func TestVanishedClient(t *testing.T) {
	for _, args := range []string{"-u -b 2M", "-u -b 2M -R", "-b 2M", "-b 2M -R"} {
		t.Run("killed "+args, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := s.serve("linerate serve --max-tests 1 --json --tests 2")
			client := s.start(s.lab.A(), "iperf3 -c 10.77.0.2 -t 60 --forceflush "+args)
			client.shows(stockInterval)
			client.signal(syscall.SIGKILL)
			s.free()
			server.exit(0)
		})
	}
}

// freeWithin is how long a server may take to notice that a client vanished, and
// room for a busy machine.
const freeWithin = 10 * time.Second

// free runs a test of a stock client as soon as the server is free.
func (s *stage) free() {
	s.Helper()
	for end := time.Now().Add(freeWithin); ; time.Sleep(100 * time.Millisecond) {
		p := s.start(s.lab.A(), "iperf3 -c 10.77.0.2 -u -b 2M -k 10")
		<-p.ended
		if p.cmd.ProcessState.Success() {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("the server is not free within %v", freeWithin)
		}
	}
}

// TestRefused meets servers that won't (rows 18, 21, 22 and 37, BC-137): one clear
// line, and the status of a peer that refuses.
func TestRefused(t *testing.T) {
	t.Run("nobody", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.client(5, "linerate test 10.77.0.2 -t 1").oneLine("is linerate serve or iperf3 -s running there?")
	})
	t.Run("nowhere", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.client(5, "linerate test --connect-timeout 1s --path udp 10.77.0.9 -t 1").oneLine("10.77.0.9")
	})
	t.Run("stock is busy", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.serve(stockServer)
		s.start(s.lab.A(), "iperf3 -c 10.77.0.2 -u -b 2M -t 60")
		s.running(20)
		s.client(5, "linerate test 10.77.0.2 -t 1").oneLine("busy")
	})
	t.Run("ours is busy", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.serve("linerate serve --max-tests 1")
		s.start(s.lab.A(), "iperf3 -c 10.77.0.2 -u -b 2M -t 60")
		s.running(20)
		s.client(5, "linerate test 10.77.0.2 -t 1").oneLine("busy")
		for range 5 {
			if p := s.client(1, "iperf3 -c 10.77.0.2 -t 1"); !strings.Contains(p.err.String(), "server is busy") {
				t.Errorf("a stock client says %q", p.err.String())
			}
		}
	})
	t.Run("stock limits the rate", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.serve("iperf3 -s --server-bitrate-limit 1M")
		s.client(5, "linerate test 10.77.0.2 -b 5M -t 1").oneLine("closed")
	})
	t.Run("ours limits the rate", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.serve("linerate serve --max-rate 1M")
		s.client(5, "linerate test 10.77.0.2 -b 5M -t 1").oneLine("rate")
		p := s.client(1, "iperf3 -c 10.77.0.2 -u -b 5M -t 1")
		if !strings.Contains(p.err.String(), "total required bandwidth is larger than server limit") {
			t.Errorf("a stock client says %q", p.err.String())
		}
	})
	t.Run("ours limits the duration", func(t *testing.T) {
		s := meet(t, lab.Config{})
		s.serve("linerate serve --max-duration 2s")
		s.client(5, "linerate test 10.77.0.2 -t 5").oneLine("duration")
		s.client(1, "iperf3 -c 10.77.0.2 -u -t 5")
	})
}

// TestThreshold loses more than is allowed.
func TestThreshold(t *testing.T) {
	for _, server := range []string{stockServer, ourServer} {
		t.Run(server, func(t *testing.T) {
			s := meet(t, lab.Config{Impair: &lab.Impairment{DropEvery: 4}})
			s.serve(server)
			s.client(3, "linerate test 10.77.0.2 -k 100 -b 5M --fail-loss 20%").oneLine("lost")
			s.client(0, "linerate test 10.77.0.2 -k 100 -b 5M --fail-loss 30%")
		})
	}
}

// TestLossyStart loses the first datagrams of a stream either way (row 20, BC-076): the
// test runs, and what was said again is no loss.
func TestLossyStart(t *testing.T) {
	tests := []struct {
		name, server string
		args         string
		hello, reply uint64 // how many are lost
	}{
		{"hello", ourServer, "", 1, 0},
		{"hellos", ourServer, "", 3, 0},
		{"reply", ourServer, "", 0, 1},
		{"replies in reverse", ourServer, "-R", 0, 3},
		{"both of two", ourServer, "--bidir", 2, 1},
		{"hello to stock", stockServer, "", 1, 0},
		{"hellos to stock", stockServer, "", 2, 0},
		{"hello to stock in reverse", stockServer, "-R", 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{Impair: &lab.Impairment{DropTo: test.hello}, Reverse: &lab.Impairment{DropTo: test.reply}})
			s.serve(test.server)
			ours := s.client(0, "linerate test 10.77.0.2 --json -k 100 -b 2M "+test.args).ours()
			for what, d := range map[string]result.Direction{"first": first(ours), "second": reverseOf(ours)} {
				if d.Sender != nil {
					_, _, lost := s.whole(what, d)
					s.equal(what+": lost", lost, 0)
				}
			}
			to, from := s.passed()
			s.equal("lost on the way", to.Dropped+from.Dropped, test.hello+test.reply)
		})
	}
	t.Run("reply of stock", func(t *testing.T) {
		s := meet(t, lab.Config{Reverse: &lab.Impairment{DropTo: 1}})
		s.serve(stockServer)
		s.start(s.lab.A(), "linerate test 10.77.0.2 --json -k 100 -b 2M").within(15*time.Second, 5)
	})
	t.Run("no way for UDP", func(t *testing.T) {
		s := meet(t, lab.Config{Impair: &lab.Impairment{DropTo: 1 << 40}})
		s.serve(ourServer)
		s.start(s.lab.A(), "linerate test 10.77.0.2 -k 100 -b 2M").within(15*time.Second, 5)
	})
}
