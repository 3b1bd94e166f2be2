package serve

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// kinds are tests of either protocol, of either direction.
var kinds = []iperf3.Params{
	{TCP: true, Time: 60, Parallel: 1}, {TCP: true, Time: 60, Parallel: 1, Reverse: true},
	{UDP: true, Time: 60, Parallel: 1, Len: 1000, Bandwidth: 1e6}, {UDP: true, Time: 60, Parallel: 1, Len: 1000, Bandwidth: 1e6, Reverse: true},
}

// running starts a test of each kind.
func (h *house) running() (all []*visitor) {
	h.t.Helper()
	for i := range kinds {
		v := h.enter()
		v.open(&kinds[i], 1)
		expect(h.t, v.control, iperf3.TestStart)
		expect(h.t, v.control, iperf3.TestRunning)
		all = append(all, v)
	}
	return all
}

// runs starts a test of a stream over TCP as a linerate does.
func (h *house) runs(v *visitor) {
	h.t.Helper()
	p := kinds[0]
	p.Extra = []byte(`{"version":"test"}`)
	check(h.t, v.control.WriteParams(&p))
	expect(h.t, v.control, iperf3.Extra)
	var greeting iperf3.Greeting
	check(h.t, v.control.ReadExtra(&greeting))
	expect(h.t, v.control, iperf3.CreateStreams)
	check(h.t, iperf3.NewConn(h.dial()).WriteCookie(v.cookie))
	expect(h.t, v.control, iperf3.TestStart)
	check(h.t, v.control.WriteState(iperf3.TestStart))
	expect(h.t, v.control, iperf3.TestRunning)
}

// The cable is cut: nobody says anything any more, but nobody acknowledges either.
// The places are free within seconds, and nothing is sent on (BC-067).
func TestCutCable(t *testing.T) {
	t.Parallel()
	h := newHouse(t, lab.Config{Impair: &lab.Impairment{}}, Config{MaxTests: len(kinds)})
	before := h.descriptors()
	all := h.running()
	begun := time.Now()
	check(t, h.SetOutage(true))
	for range all {
		h.await("broken")
	}
	if d := time.Since(begun); d > 18*time.Second {
		t.Errorf("the server took %v to notice", d)
	}
	h.settled(before)
	check(t, h.SetOutage(false))
	for _, v := range all {
		v.leave()
	}
	h.serves()
}

// BC-067: clients that stand still, their connections open: each place is free within
// the time that its client may be silent.
func TestFrozenClients(t *testing.T) {
	t.Parallel()
	h := newHouse(t, lab.Config{}, Config{MaxTests: 4})
	before := h.descriptors()
	silent := h.enter()
	defer silent.leave()
	streamless := h.enter()
	defer streamless.leave()
	streamless.open(&kinds[2], 0)
	running := h.enter()
	defer running.leave()
	h.runs(running)   // linerate's: something is due from it all the time
	done := h.enter() // with the test, but its results don't come
	defer done.leave()
	done.open(&kinds[0], 1)
	expect(t, done.control, iperf3.TestStart)
	expect(t, done.control, iperf3.TestRunning)
	check(t, done.control.WriteState(iperf3.TestEnd))
	expect(t, done.control, iperf3.ExchangeResults)
	begun := time.Now()
	var broken []string
	for range 4 {
		broken = append(broken, h.await("broken"))
	}
	slices.Sort(broken)
	for i, want := range []string{"broken 1 parameters: ", "broken 2 stream 1: no hello came", "broken 3 control connection: ", "broken 4 control connection: "} {
		if got := broken[i]; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if d := time.Since(begun); d > 25*time.Second {
		t.Errorf("the server took %v to notice", d)
	}
	h.settled(before)
	h.serves()
}

// BC-075: a client that says that it will say no more, or whose control connection
// is reset while its data goes on: the test is broken off at once.
func TestHalfClosedControl(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	before := h.descriptors()
	for _, cut := range []func(*visitor) error{
		func(v *visitor) error { return v.conn.CloseWrite() },
		func(v *visitor) error { return errors.Join(v.conn.SetLinger(0), v.conn.Close()) },
	} {
		for i, p := range kinds {
			for _, running := range []bool{false, true} {
				v := h.enter()
				if running {
					v.open(&p, 1)
					expect(t, v.control, iperf3.TestStart)
					expect(t, v.control, iperf3.TestRunning)
				} else {
					v.open(&p, 0)
				}
				begun := time.Now()
				check(t, cut(v))
				h.await("broken")
				if d := time.Since(begun); d > 3*time.Second {
					t.Errorf("kind %d, running %v: noticed after %v", i, running, d)
				}
				v.leave()
				h.settled(before)
			}
		}
	}
	h.serves()
}

// BC-072: a client that is killed frees its place at once.
func TestKilledClients(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	before := h.descriptors()
	for _, args := range []string{"", "-R", "-u -b 10M", "-u -b 10M -R", "--bidir"} {
		cmd := exec.Command("iperf3", strings.Fields("-c "+h.at.Addr().String()+" -t 60 "+args)...)
		check(t, h.A().Start(cmd))
		h.await("started")
		check(t, cmd.Process.Kill())
		cmd.Wait() // says that it was killed
		begun := time.Now()
		h.await("broken")
		if d := time.Since(begun); d > 3*time.Second {
			t.Errorf("%s: noticed after %v", args, d)
		}
		h.settled(before)
	}
	h.serves()
}

// A server that is stopped ends in time, with success, and tells its clients.
func TestStopDuringTests(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 64})
	all := h.running()
	results := h.running()
	for _, v := range results {
		check(t, v.control.WriteState(iperf3.TestEnd))
		expect(t, v.control, iperf3.ExchangeResults)
	}
	all = append(all, results...)
	for i := range 3 { // of UDP one at a time
		v := h.enter()
		v.open(&kinds[i], 0)
		all = append(all, v)
	}
	asked := h.enter() // for its parameters
	all = append(all, asked)
	silent := h.dial()
	defer silent.Close()
	begun := time.Now()
	check(t, h.server.Process.Signal(os.Interrupt))
	for i, v := range all {
		if state, err := v.control.ReadState(); state != iperf3.ServerTerminate || err != nil {
			t.Errorf("client %d: %v (%v), want %v", i, state, err, iperf3.ServerTerminate)
		}
	}
	h.mustEnd()
	if d := time.Since(begun); d > 3*time.Second { // with the search for what is left over
		t.Errorf("the server took %v to end", d)
	}
	for _, v := range all {
		v.leave()
	}
}

// A port that is taken is said in one line that names it.
func TestPortInUse(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{})
	for _, local := range []string{"[::]:5201", "0.0.0.0:5201", h.at.String()} {
		c := Config{Local: netip.MustParseAddrPort(local)}
		second := serverCommand(t, c)
		var out strings.Builder
		second.Stdout = &out
		if err := h.B().Run(second); err == nil {
			t.Errorf("%v: a second server runs", c.Local)
		}
		if text := out.String(); !strings.Contains(text, "5201") || !strings.Contains(text, "address already in use") {
			t.Errorf("%v: %s", c.Local, text)
		}
	}
}

// Results that are not of the kind that linerates tell end their test, and no other.
func TestStrangeResults(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	before := h.descriptors()
	v := h.enter()
	h.runs(v)
	check(t, v.control.WriteState(iperf3.TestEnd))
	expect(t, v.control, iperf3.ExchangeResults)
	check(t, v.control.WriteResults(&iperf3.Results{Extra: []byte("5")}))
	theirs, err := v.control.ReadResults()
	check(t, err)
	if !strings.Contains(string(theirs.Extra), "the client's results: ") {
		t.Errorf("the server says %s", theirs.Extra)
	}
	expect(t, v.control, iperf3.DisplayResults)
	check(t, v.control.WriteState(iperf3.IperfDone))
	if said := h.await("broken"); !strings.Contains(said, "the client's results: ") {
		t.Error(said)
	}
	v.leave()
	h.settled(before)
	h.serves()
}
