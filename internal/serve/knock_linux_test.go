package serve

import (
	"net"
	"testing"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// A port scan, a health check or a client that changes its mind costs nothing: no
// test, no line in the log, no descriptor.
func TestKnocksCostNothing(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	h.serves()
	h.await("done 1")
	before := h.descriptors()
	for range 50 {
		h.dial().Close()
		silent := h.dial()
		half := h.dial()
		half.Write(make([]byte, 20))
		check(t, half.CloseWrite())
		defer silent.Close()
		web := h.dial()
		web.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		web.Close()
		reset := h.dial()
		check(t, reset.SetLinger(0))
		reset.Close()
	}
	h.serves()
	h.await("done 2")
	h.settled(before + 50) // the silent ones may stay for a while
}

// BC-130: peers that say little or nothing take no seat from a client.
func TestIdlersGiveWay(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 4})
	var idlers []net.Conn
	for i := range 2000 {
		c := h.dial()
		if i%2 == 0 {
			c.Write([]byte{'x'})
		}
		idlers = append(idlers, c)
	}
	h.serves()
	h.await("done 1")
	if n := h.descriptors(); n > mostPending+50 {
		t.Errorf("%d descriptors are open", n)
	}
	for _, c := range idlers {
		c.Close()
	}
	h.settled(30)
}

// A data connection that no test is waiting for is told so, as iperf3 tells it.
func TestStrangersConnectionIsTurnedAway(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	v := h.enter()
	v.open(&iperf3.Params{TCP: true, Time: 1, Parallel: 1}, 0)

	wrong := iperf3.NewConn(h.dial())
	wrong.Patience = iperf3.Patience{First: patience, Whole: patience}
	check(t, wrong.WriteCookie(iperf3.NewCookie()))
	expect(t, wrong, iperf3.AccessDenied)

	// The right cookie, but from another host: b itself.
	var conn net.Conn
	check(t, h.B().Do(func() (err error) {
		conn, err = net.Dial("tcp", h.at.String())
		return err
	}))
	defer conn.Close()
	thief := iperf3.NewConn(conn)
	thief.Patience = iperf3.Patience{First: patience, Whole: patience}
	check(t, thief.WriteCookie(v.cookie))
	expect(t, thief, iperf3.AccessDenied)

	check(t, iperf3.NewConn(h.dial()).WriteCookie(v.cookie))
	expect(t, v.control, iperf3.TestStart)
	expect(t, v.control, iperf3.TestRunning)
}

// A client that goes away half way frees its place in seconds: the next one is
// served.
func TestClientsThatStopHalfWay(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	for _, p := range []iperf3.Params{
		{TCP: true, Time: 10, Parallel: 2}, {TCP: true, Time: 10, Parallel: 2, Reverse: true},
		{UDP: true, Time: 10, Parallel: 2, Len: 1000, Bandwidth: 1e6}, {UDP: true, Time: 10, Parallel: 2, Len: 1000, Bandwidth: 1e6, Reverse: true},
	} {
		before := h.descriptors()
		h.enter().leave() // at the parameters
		for opened := range 3 {
			v := h.enter()
			v.open(&p, opened)
			if opened == 2 {
				expect(t, v.control, iperf3.TestStart)
				expect(t, v.control, iperf3.TestRunning)
			}
			v.leave()
		}
		v := h.enter()
		v.open(&p, 2)
		expect(t, v.control, iperf3.TestStart)
		expect(t, v.control, iperf3.TestRunning)
		check(t, v.control.WriteState(iperf3.TestEnd))
		expect(t, v.control, iperf3.ExchangeResults)
		v.leave() // at the results
		h.settled(before)
	}
	h.serves()
}
