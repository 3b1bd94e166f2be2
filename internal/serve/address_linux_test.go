package serve

import (
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
	"linerate/internal/tcp"
)

// BC-112: the answer comes from the address that was dialled, on a server of many
// addresses, of either family, by either protocol.
func TestAnswersFromTheAddressDialled(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, Device: "eth0"})
	for _, address := range []string{"10.77.0.12/16", "fd77::12/64"} {
		check(t, h.B().Run(exec.Command("ip", "address", "add", address, "dev", "eth0", "nodad")))
	}
	for _, to := range []string{"10.77.0.2", "10.77.0.12", "fd77::2", "fd77::12", h.B().LinkLocal.String() + "%eth0"} {
		for _, how := range []string{"", "-u -b 10M -l 1000", "-u -b 10M -l 1000 -R"} {
			out, err := h.client(strings.Fields("iperf3 -n 100K -c " + to + " " + how)...)
			if err != nil {
				t.Errorf("%s %s: %v\n%s", to, how, err, out)
			}
		}
	}
}

// A server on an address of one family, or of any, serves that and no other.
func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		local  string
		only6  bool
		serves [2]bool // IPv4, IPv6
	}{
		{"[::]:5201", false, [2]bool{true, true}},
		{"[::]:5201", true, [2]bool{false, true}},
		{"0.0.0.0:5201", false, [2]bool{true, false}},
		{"10.77.0.2:5201", false, [2]bool{true, false}},
		{"[fd77::2]:5201", false, [2]bool{false, true}},
	} {
		h := newHouse(t, lab.Config{}, Config{Local: netip.MustParseAddrPort(c.local), IPv6Only: c.only6, MaxTests: 8})
		for i, to := range []string{"10.77.0.2", "fd77::2"} {
			if out, err := h.client(strings.Fields("iperf3 -n 100K -u -b 10M -l 1000 -c " + to)...); (err == nil) != c.serves[i] {
				t.Errorf("%s to %+v: %v\n%s", to, c, err, out)
			}
		}
	}
}

// Clients of other networks than those allowed are not even answered.
func TestAllow(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, Allow: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/24"), netip.MustParsePrefix("fd77:1::/64")}})
	h.serves()
	out, err := h.client(strings.Fields("iperf3 -n 100K -c fd77::2")...)
	if err == nil || !strings.Contains(out, "control socket has closed unexpectedly") && !strings.Contains(out, "Connection reset by peer") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What a client asks of the sockets holds, although they are accepted before it is
// known: the window grows to what was asked, and segments are as short.
func TestWindowAndMSSOfAcceptedStreams(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8})
	const window, mss, timestamps = 4 << 20, 536, 12
	stream := h.stream(iperf3.Params{Window: window})
	block := make([]byte, 1<<20)
	grown := 0
	for end := time.Now().Add(patience); time.Now().Before(end) && grown < window/2; {
		_, err := stream.Write(block)
		check(t, err)
		info, err := tcp.ReadInfo(stream)
		check(t, err)
		grown = max(grown, int(*info.SendWindow))
	}
	if grown < window/2 {
		t.Errorf("the server's window grew to %d bytes, asked for %d", grown, window)
	}
	for _, reverse := range []bool{false, true} {
		stream := h.stream(iperf3.Params{MSS: mss, Reverse: reverse})
		if got, err := tcp.MSS(stream); err != nil || got != mss-timestamps {
			t.Errorf("segments of %d bytes (%v), want %d", got, err, mss-timestamps)
		}
	}
}

// stream is that of a test that has it open.
func (h *house) stream(p iperf3.Params) *net.TCPConn {
	h.t.Helper()
	p.TCP, p.Time, p.Parallel = true, 30, 1
	v := h.enter()
	v.open(&p, 0)
	var conn *net.TCPConn
	check(h.t, h.A().Do(func() (err error) {
		conn, _, err = tcp.Dial(h.t.Context(), netip.AddrPort{}, h.at, tcp.Options{Window: p.Window, MSS: p.MSS})
		return err
	}))
	h.t.Cleanup(func() { conn.Close() })
	check(h.t, iperf3.NewConn(conn).WriteCookie(v.cookie))
	expect(h.t, v.control, iperf3.TestStart)
	expect(h.t, v.control, iperf3.TestRunning)
	return conn
}
