package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
	"linerate/internal/result"
	"linerate/internal/session"
)

// childConfig is the variable that makes a server of this test's binary: a server
// opens sockets on threads of its own, which have to be in a host of the lab.
const childConfig = "LINERATE_TEST_SERVE"

func TestMain(m *testing.M) {
	if text := os.Getenv(childConfig); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// child serves until it is interrupted, tells what it sees, and looks for what was
// left behind.
func child(text string) int {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println("failed", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	o := &teller{}
	quiet := o.tellHeap()
	s, err := Open(ctx, c, o)
	if err == nil {
		err = s.Serve(ctx)
	}
	stop()
	quiet()
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	return 0
}

// A teller prints what a server sees, a line each.
type teller struct{ mu sync.Mutex }

func (t *teller) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Println(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// tellHeap tells how much is in use whenever it is asked, by a signal.
func (t *teller) tellHeap() (stop func()) {
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		defer close(done)
		for range asked {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			t.say("heap %d", m.HeapAlloc)
		}
	}()
	return func() {
		signal.Stop(asked)
		close(asked)
		<-done
	}
}

func (t *teller) Listening(at netip.AddrPort) { t.say("listening %v", at) }

func (t *teller) Test(netip.AddrPort, int) session.Observer { return t }

func (t *teller) Started(r *result.Report) { t.say("started %s", r.Config.Destination) }

func (t *teller) Interval(*result.Report, *result.Interval) {}

func (t *teller) Progress(string) {}

func (t *teller) Done(_ netip.AddrPort, number int, rep *result.Report, err error) {
	switch {
	case err != nil:
		t.say("broken %d %v", number, err)
	case rep.Receiver != nil:
		t.say("done %d %d", number, rep.Receiver.PayloadBytes)
	default:
		t.say("done %d %d", number, rep.Sender.PayloadBytes)
	}
}

// A house is a lab with a server at b.
type house struct {
	*lab.Lab
	t      *testing.T
	server *exec.Cmd
	lines  chan string
	ended  chan error
	at     netip.AddrPort
}

// patience is enough for a peer on the same, busy machine.
const patience = 20 * time.Second

func newHouse(t *testing.T, l lab.Config, c Config) *house {
	t.Helper()
	made, err := lab.New(l)
	check(t, err)
	t.Cleanup(func() { check(t, made.Close()) })
	h := &house{Lab: made, t: t, lines: make(chan string, 1<<16), ended: make(chan error, 1)}
	if !c.Local.IsValid() {
		c.Local = netip.AddrPortFrom(netip.IPv6Unspecified(), iperf3.Port)
	}
	h.at = netip.AddrPortFrom(made.B().Addr4, c.Local.Port())
	h.server = serverCommand(t, c)
	out, err := h.server.StdoutPipe()
	check(t, err)
	h.server.Stderr = os.Stderr // a race, or a panic
	check(t, made.B().Start(h.server))
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			h.lines <- lines.Text()
		}
		close(h.lines)
		h.ended <- h.server.Wait()
	}()
	t.Cleanup(h.stop)
	h.await("listening")
	return h
}

// serverCommand is this binary as a server.
func serverCommand(t *testing.T, c Config) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	check(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childConfig+"="+string(text))
	return cmd
}

// stop interrupts the server, and wants it to end in time with nothing left over.
func (h *house) stop() {
	if h.ended == nil {
		return
	}
	check(h.t, h.server.Process.Signal(os.Interrupt))
	h.mustEnd()
}

// mustEnd wants the server to have ended by itself.
func (h *house) mustEnd() {
	h.t.Helper()
	select {
	case err := <-h.ended:
		for line := range h.lines {
			if err != nil {
				h.t.Log(line)
			}
		}
		if err != nil {
			h.t.Errorf("the server: %v", err)
		}
	case <-time.After(patience):
		h.t.Error("the server does not end")
		h.server.Process.Signal(syscall.SIGQUIT)
		<-h.ended
	}
	h.ended = nil
}

// await is the next line that begins with a word.
func (h *house) await(word string) string {
	h.t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case line, more := <-h.lines:
			if strings.HasPrefix(line, word) {
				return line
			}
			if !more {
				h.t.Fatalf("the server ended before %q", word)
			}
		case <-timeout:
			h.t.Fatalf("the server says no %q", word)
		}
	}
}

// dial connects to the server from a.
func (h *house) dial() *net.TCPConn {
	h.t.Helper()
	var conn net.Conn
	check(h.t, h.A().Do(func() (err error) {
		conn, err = net.Dial("tcp", h.at.String())
		return err
	}))
	h.t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// client runs a command at a, such as a stock client, and returns what it says.
func (h *house) client(command ...string) (out string, err error) {
	var text bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &text, &text
	err = h.A().Run(cmd)
	return text.String(), err
}

// serves wants a stock client to be served, now.
func (h *house) serves() {
	h.t.Helper()
	if out, err := h.client("iperf3", "-c", h.at.Addr().String(), "-n", "100K"); err != nil {
		h.t.Errorf("a stock client: %v\n%s", err, out)
	}
}

// descriptors is how many files and sockets the server has open.
func (h *house) descriptors() int {
	h.t.Helper()
	open, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(h.server.Process.Pid), "fd"))
	check(h.t, err)
	return len(open)
}

// settled waits for the server to have no more open than before.
func (h *house) settled(before int) {
	h.t.Helper()
	for end := time.Now().Add(patience); h.descriptors() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("the server has %d descriptors open, %d before", h.descriptors(), before)
		}
	}
}

// heap is how many bytes the server's objects hold. What is resident tells less: the
// race detector keeps a shadow of all that was ever touched.
func (h *house) heap() (bytes int) {
	h.t.Helper()
	check(h.t, h.server.Process.Signal(syscall.SIGUSR1))
	bytes, err := strconv.Atoi(strings.TrimPrefix(h.await("heap "), "heap "))
	check(h.t, err)
	return bytes
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
