package serve

import (
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// BC-131, BC-132: before, during and after a test the UDP port answers nobody but
// the client of one that waits for its streams, and garbage changes no test.
func TestHellosOfStrangers(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8})
	stranger, garbage := h.udp(h.B()), h.udp(h.A())
	noise := func() {
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			b := make([]byte, r.IntN(1400))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			if len(b) == len(iperf3.Hello) {
				continue // which may be a hello
			}
			garbage.Write(b)
			stranger.Write(b)
			stranger.Write([]byte(iperf3.Hello))
		}
	}
	noise()
	p := iperf3.Params{UDP: true, Time: 10, Parallel: 2, Len: 1000, Bandwidth: 1e6, Reverse: true}
	v := h.enter()
	v.open(&p, 1)
	noise()
	repeat := v.data[0]
	for range 3 { // its answer was lost
		_, err := repeat.Write([]byte(iperf3.Hello))
		check(t, err)
		if !replied(repeat, patience) {
			t.Error("no answer to a hello that came again")
		}
	}
	second := h.hello()
	expect(t, v.control, iperf3.TestStart)
	expect(t, v.control, iperf3.TestRunning)
	noise()
	var b [2000]byte
	for _, stream := range []net.Conn{repeat, second} {
		check(t, stream.SetReadDeadline(time.Now().Add(patience)))
		if n, err := stream.Read(b[:]); err != nil || n != p.Len {
			t.Errorf("%d bytes of a stream (%v), want %d", n, err, p.Len)
		}
		stream.Close()
	}
	// A hello of the client itself, but of no stream that is waited for.
	late := h.udp(h.A())
	late.Write([]byte(iperf3.Hello))
	v.leave()
	h.await("broken")
	noise()
	for name, c := range map[string]net.Conn{"a stranger": stranger, "garbage": garbage, "a late hello": late} {
		if replied(c, 50*time.Millisecond) {
			t.Errorf("%s was answered", name)
		}
	}
	if out, err := h.client("iperf3", "-u", "-c", h.at.Addr().String(), "-n", "100K", "-b", "10M", "-R"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// replied reports whether anything comes.
func replied(c net.Conn, wait time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(wait))
	var b [2000]byte
	_, err := c.Read(b[:])
	return !os.IsTimeout(err)
}
