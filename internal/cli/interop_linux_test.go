package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/result"
)

// A stage is a lab in which two programs meet. What passes between them is counted
// by the host in the middle, which is no party to it.
type stage struct {
	*testing.T
	lab *lab.Lab
}

// meet makes a stage; the test goes on beside others.
func meet(t *testing.T, c lab.Config) *stage {
	t.Parallel()
	if c.Impair == nil {
		c.Impair = &lab.Impairment{}
	}
	if c.Reverse == nil {
		c.Reverse = &lab.Impairment{}
	}
	l, err := lab.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &stage{t, l}
}

// passed is what the middle host saw of datagrams, both ways.
func (s *stage) passed() (forward, reverse lab.ImpairCounts) {
	s.Helper()
	forward, reverse, err := s.lab.Impaired()
	if err != nil {
		s.Fatal(err)
	}
	return forward, reverse
}

// A program runs on a host of a stage.
type program struct {
	s     *stage
	cmd   *exec.Cmd
	out   printed
	err   bytes.Buffer
	ended chan struct{}
}

// printed is what a program has printed; it may be asked while that runs.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *printed) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *printed) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *printed) has(what *regexp.Regexp) bool { return what.MatchString(o.String()) }

// start starts a command line on a host.
func (s *stage) start(h *lab.Host, line string) *program {
	s.Helper()
	args := strings.Fields(line)
	p := &program{s: s, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.Env = append(os.Environ(), "LINERATE_PASSWORD="+password, "IPERF3_PASSWORD="+password)
	if err := h.Start(p.cmd); err != nil {
		s.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is looked at below
		close(p.ended)
	}()
	s.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended long ago
		<-p.ended
		if s.Failed() {
			s.Logf("%s: %v\n%s%s", line, p.cmd.ProcessState, p.out.String(), p.err.String())
		}
	})
	return p
}

// delay of what the host in between lets others overtake: longer than between a
// few packets of these tests, and shorter than any drain.
const delay = 20 * time.Millisecond

// password of the tests that log in.
const password = "sesame-open"

// patience with a program on a busy machine.
const patience = 40 * time.Second

// exit waits for a program to end by itself, and wants its exit status.
func (p *program) exit(want int) *program {
	p.s.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.s.Fatalf("%v does not end", p.cmd.Args)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.s.Fatalf("%v: exit status %d, want %d", p.cmd.Args, got, want)
	}
	return p
}

// signal sends a signal.
func (p *program) signal(sig syscall.Signal) {
	p.s.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.s.Fatal(err)
	}
}

// ours reads a report of linerate.
func (p *program) ours() *result.Report {
	p.s.Helper()
	r := &result.Report{}
	p.decode(r)
	return r
}

// streamed reads linerate's report at the end of its stream.
func (p *program) streamed() *result.Report {
	p.s.Helper()
	lines := bytes.Split(bytes.TrimSpace([]byte(p.out.String())), []byte("\n"))
	last := struct{ End result.Report }{}
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		p.s.Fatalf("%v prints no report: %v", p.cmd.Args, err)
	}
	return &last.End
}

// stock reads a report of iperf3.
func (p *program) stock() *stockReport {
	p.s.Helper()
	r := &stockReport{}
	p.decode(r)
	return r
}

func (p *program) decode(into any) {
	p.s.Helper()
	if err := json.Unmarshal([]byte(p.out.String()), into); err != nil {
		p.s.Fatalf("%v prints no report: %v", p.cmd.Args, err)
	}
}

// A stockSum is a sum or a stream in iperf3's report.
type stockSum struct {
	Bytes       uint64
	Seconds     float64
	Packets     uint64
	LostPackets uint64  `json:"lost_packets"`
	OutOfOrder  uint64  `json:"out_of_order"`
	JitterMS    float64 `json:"jitter_ms"`
	Retransmits *uint64
}

// A stockReport is what iperf3 -J prints, as far as the tests read it.
type stockReport struct {
	Start struct {
		TestStart struct {
			Reverse, TOS int
		} `json:"test_start"`
	}
	End struct {
		Streams                 []struct{ UDP, Sender, Receiver *stockSum }
		Sum                     stockSum
		SumSent                 stockSum `json:"sum_sent"`
		SumReceived             stockSum `json:"sum_received"`
		SumSentBidirReverse     stockSum `json:"sum_sent_bidir_reverse"`
		SumReceivedBidirReverse stockSum `json:"sum_received_bidir_reverse"`
		SenderCongestion        string   `json:"sender_tcp_congestion"`
		ReceiverCongestion      string   `json:"receiver_tcp_congestion"`
	}
	ServerText string          `json:"server_output_text"`
	ServerJSON json.RawMessage `json:"server_output_json"`
	Error      string
}

// serve starts a server on host b and waits until it listens.
func (s *stage) serve(line string) *program {
	s.Helper()
	p := s.start(s.lab.B(), line)
	for end := time.Now().Add(patience); !s.listens(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.ended:
			s.Fatalf("%s ended: %s", line, p.err.String())
		default:
		}
		if time.Now().After(end) {
			s.Fatalf("%s does not listen", line)
		}
	}
	return p
}

// listens reports whether host b has a TCP socket that listens on port 5201.
func (s *stage) listens() bool {
	s.Helper()
	const port, listen = ":1451 ", " 0A " // proc(5), /proc/net/tcp
	found := false
	err := s.lab.B().Do(func() error {
		for _, family := range []string{"tcp", "tcp6"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + family)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(b)) {
				found = found || strings.Contains(line, port) && strings.Contains(line, listen)
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// client runs a command line on host a to its end.
func (s *stage) client(want int, line string) *program {
	s.Helper()
	return s.start(s.lab.A(), line).exit(want)
}

// equal wants numbers that are to be one and the same.
func (s *stage) equal(what string, numbers ...uint64) {
	s.Helper()
	for _, n := range numbers {
		if n != numbers[0] {
			s.Errorf("%s: %v are not the same", what, numbers)
			return
		}
	}
}

var errAbsent = errors.New("absent")

// whole wants a direction with both ends' counts and an account that adds up.
func (s *stage) whole(what string, d result.Direction) (sent, unique, lost uint64) {
	s.Helper()
	switch {
	case d.Sender == nil || d.Sender.SentPackets == nil:
		s.Fatal(fmt.Errorf("%s: the sender's count is %w", what, errAbsent))
	case d.Receiver == nil || d.Receiver.ArrivedPackets == nil:
		s.Fatal(fmt.Errorf("%s: the receiver's count is %w", what, errAbsent))
	}
	sent, unique, lost = d.Sender.Packets, d.Receiver.Unique, d.Receiver.Lost
	if unique+lost != sent {
		s.Errorf("%s: %d unique and %d lost are not %d sent", what, unique, lost, sent)
	}
	return sent, unique, lost
}

// first is the first direction of a report.
func first(r *result.Report) result.Direction {
	return result.Direction{Sender: r.Sender, Receiver: r.Receiver, Ledger: r.Ledger}
}
