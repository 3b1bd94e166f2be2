package serve

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// A sender that says nothing of its rate, or lies, is measured: over the limit the
// test ends. What the server sends keeps to it.
func TestMaxRateWhileRunning(t *testing.T) {
	t.Parallel()
	const limit = 20e6
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, MaxRate: limit, Interval: time.Second})
	type outcome struct {
		out string
		err error
	}
	forward, reverse := make(chan outcome, 1), make(chan outcome, 1)
	run := func(to chan<- outcome, args string) {
		out, err := h.client(strings.Fields("iperf3 -c " + h.at.Addr().String() + " " + args)...)
		to <- outcome{out, err}
	}
	go run(forward, "-t 20")
	go run(reverse, "-t 6 -R -P 2 -f k")
	liar := h.enter() // says a megabit
	liar.open(&iperf3.Params{UDP: true, Time: 20, Parallel: 1, Len: 1000, Bandwidth: 1e6}, 1)
	expect(t, liar.control, iperf3.TestStart)
	expect(t, liar.control, iperf3.TestRunning)
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		block := make([]byte, 1000)
		for number := byte(1); ; number++ {
			block[11] = number
			for range 10 {
				if _, err := liar.data[0].Write(block); errors.Is(err, net.ErrClosed) {
					return
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	expect(t, liar.control, iperf3.ServerError)
	if got, err := liar.control.ReadServerError(); err != nil || got.Code != iperf3.OverRateLimit {
		t.Errorf("the liar: %v (%v)", got, err)
	}
	liar.leave()
	<-sending
	if o := <-forward; o.err == nil || !strings.Contains(o.out, "total required bandwidth is larger than server limit") {
		t.Errorf("forward: %v\n%s", o.err, o.out)
	}
	o := <-reverse
	if o.err != nil {
		t.Fatalf("reverse: %v\n%s", o.err, o.out)
	}
	if rate := sumKbits(t, o.out); rate > 1.05*limit/1e3 {
		t.Errorf("reverse: %v kbit/s\n%s", rate, o.out)
	}
}

// A test of an amount, or one whose client never says that it is over (BC-067), ends in
// the time that the server allows.
func TestMaxDurationOfAnAmount(t *testing.T) {
	t.Parallel()
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, MaxDuration: time.Second})
	for _, p := range []iperf3.Params{
		{TCP: true, Num: 1 << 50, Parallel: 1}, {TCP: true, Num: 1 << 50, Parallel: 1, Reverse: true},
		{UDP: true, Num: 1 << 50, Parallel: 1, Len: 1000, Bandwidth: 1e6}, {UDP: true, BlockCount: 1 << 40, Parallel: 1, Len: 1000, Bandwidth: 1e6, Reverse: true},
	} {
		v := h.enter()
		v.open(&p, 1)
		expect(t, v.control, iperf3.TestStart)
		expect(t, v.control, iperf3.TestRunning)
		go io.Copy(io.Discard, v.data[0])
		begun := time.Now()
		expect(t, v.control, iperf3.ServerError)
		if got, err := v.control.ReadServerError(); err != nil || got.Code != iperf3.OverMaxDuration {
			t.Errorf("%v (%v)", got, err)
		}
		if d := time.Since(begun); d > 10*time.Second {
			t.Errorf("it took %v", d)
		}
		v.leave()
	}
}

// How long a test may take, in all.
func TestMaxTime(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		p    iperf3.Params
		most time.Duration
		want time.Duration
	}{
		{iperf3.Params{Time: 10, Omit: 2}, hour, 12*time.Second + watchdog},
		{iperf3.Params{Time: 3600}, hour, hour + watchdog}, // it may take all of it, and then ends in peace
		{iperf3.Params{Time: 10}, 0, 10*time.Second + watchdog},
		{iperf3.Params{Num: 1}, hour, hour},
		{iperf3.Params{BlockCount: 1}, 0, 0},
	} {
		s := Server{Config: Config{MaxDuration: c.most}}
		if got := s.maxTime(&c.p); got != c.want {
			t.Errorf("%+v of at most %v: %v, want %v", c.p, c.most, got, c.want)
		}
	}
}

// --tests counts the tests that are done, and lets those finish that run.
func TestTestsAreCountedWhenDone(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, Tests: 2})
	long := h.enter()
	long.open(&iperf3.Params{TCP: true, Time: 10, Parallel: 1}, 1)
	expect(t, long.control, iperf3.TestStart)
	expect(t, long.control, iperf3.TestRunning)
	h.serves() // the second
	h.await("done 2")
	third, err := h.client("iperf3", "-c", h.at.Addr().String(), "-n", "1K")
	if err == nil || !strings.Contains(third, "the server is busy") {
		t.Errorf("a third test: %v\n%s", err, third)
	}
	check(t, long.control.WriteState(iperf3.TestEnd))
	expect(t, long.control, iperf3.ExchangeResults)
	long.leave()
	h.await("broken 1")
	h.mustEnd()
}

// Who comes while the one before is just leaving need not come again.
func TestAPlaceThatIsAboutToBeFree(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	first := h.enter()
	conn := h.dial()
	defer conn.Close()
	second := iperf3.NewConn(conn)
	check(t, second.WriteCookie(iperf3.NewCookie()))
	first.leave()
	expect(t, second, iperf3.ParamExchange)
}
