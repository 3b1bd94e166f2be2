package tcp

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
)

func TestWindowAskedAndGiven(t *testing.T) {
	c := newLine(t, Options{Window: 50_000}, Options{Window: 70_000})
	for conn, want := range map[*net.TCPConn]int{c.client: 100_000, c.server: 140_000} {
		send, receive, err := Window(conn)
		if send != want || receive != want || err != nil {
			t.Errorf("Window = %d, %d, %v; want %d", send, receive, err, want)
		}
	}
}

func TestWindowIsScaledInTheHandshake(t *testing.T) {
	const window = 8 << 20
	c := newLine(t, Options{}, Options{Window: window})
	s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: window / 2, Duration: 5 * time.Second}
	check(t, s.Run(t.Context())) // nobody reads: the window alone takes it
	untilAcked(t, c.client, s.Sent())
	if s.Sent() != window/2 {
		t.Errorf("a window of %d took %d unread, want %d", window, s.Sent(), window/2)
	}
}

func TestMSSHoldsAtBothEnds(t *testing.T) {
	l := newLab(t, lab.Config{})
	for _, to := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
		c := connect(t, l, to, Options{MSS: 500}, Options{})
		for _, conn := range []*net.TCPConn{c.client, c.server} {
			const stamps = 12 // bytes of options in each segment
			if got, err := MSS(conn); got != 500-stamps || err != nil {
				t.Errorf("%v: MSS = %d, %v; want %d", to, got, err, 500-stamps)
			}
		}
	}
}

func TestCongestionControlIsChosen(t *testing.T) {
	c := newLine(t, Options{Congestion: "reno"}, Options{Congestion: "reno"})
	for _, conn := range []*net.TCPConn{c.client, c.server} {
		if got, err := Congestion(conn); got != "reno" || err != nil {
			t.Errorf("Congestion = %q, %v; want reno", got, err)
		}
	}
}

// BC-019: the kernel paces a TCP stream, though the interface's queue is not fq.
func TestPaceBoundsTheRate(t *testing.T) {
	const pace, bytes = 5_000_000, 2_500_000
	c := newLine(t, Options{Pace: pace}, Options{})
	done := receive(&Receiver{Conn: c.server})
	s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: bytes}
	begun := time.Now()
	check(t, s.Run(t.Context()))
	check(t, c.client.CloseWrite())
	r := <-done
	// The first packets leave in a burst.
	if took := time.Since(begun); took < 450*time.Millisecond || r.Received() != bytes {
		t.Errorf("%d bytes in %v, want %d in half a second", r.Received(), took, bytes)
	}
}

func TestOptionsOfTheHeader(t *testing.T) {
	l := newLab(t, lab.Config{})
	o := Options{TOS: 46 << 2, TTL: 7, NoDelay: true, Device: "eth0", UserTimeout: 1500 * time.Microsecond}
	for _, to := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
		c := connect(t, l, to, o, o)
		for _, conn := range []*net.TCPConn{c.client, c.server} {
			level, tos, ttl := unix.IPPROTO_IP, unix.IP_TOS, unix.IP_TTL
			if to.Is6() {
				level, tos, ttl = unix.IPPROTO_IPV6, unix.IPV6_TCLASS, unix.IPV6_UNICAST_HOPS
			}
			for _, want := range []struct{ level, name, value int }{
				{level, tos, 46 << 2}, {level, ttl, 7},
				{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}, {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 2},
			} {
				if got, err := number(conn, want.level, want.name, "it"); got != want.value || err != nil {
					t.Errorf("%v: option %d of level %d = %d, %v; want %d", to, want.name, want.level, got, err, want.value)
				}
			}
		}
	}
}

func TestUnspecifiedAddressesListen(t *testing.T) {
	l := newLab(t, lab.Config{})
	o := Options{TOS: 8, TTL: 9}
	for _, c := range []struct {
		listening, to netip.Addr
		domain        int
	}{
		{netip.IPv4Unspecified(), l.B().Addr4, unix.AF_INET},
		{netip.IPv6Unspecified(), l.B().Addr4, unix.AF_INET6},
		{netip.IPv6Unspecified(), l.B().Addr6, unix.AF_INET6},
	} {
		conn := connectTo(t, l, c.listening, c.to, o, o).server
		if got, err := number(conn, unix.SOL_SOCKET, unix.SO_DOMAIN, "SO_DOMAIN"); got != c.domain || err != nil {
			t.Errorf("%v at %v: family %d, %v; want %d", c.to, c.listening, got, err, c.domain)
		}
		for name, want := range map[int]int{unix.IP_TOS: 8, unix.IP_TTL: 9} {
			if got, err := number(conn, unix.IPPROTO_IP, name, "it"); got != want || err != nil {
				t.Errorf("%v at %v: option %d = %d, %v; want %d", c.to, c.listening, name, got, err, want)
			}
		}
	}
}

func TestNagleIsLeftOnUnlessAsked(t *testing.T) {
	c := newLine(t, Options{}, Options{})
	for _, conn := range []*net.TCPConn{c.client, c.server} {
		if got, err := number(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, "TCP_NODELAY"); got != 0 || err != nil {
			t.Errorf("TCP_NODELAY = %d, %v; want 0", got, err)
		}
	}
}

func TestNoSuchCongestionIsUnsupported(t *testing.T) {
	_, err := Listen(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), Options{Congestion: "hope"})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want it unsupported", err)
	}
}

func TestRefusedOptionsNameTheirFlag(t *testing.T) {
	l := newLab(t, lab.Config{})
	names, err := os.ReadFile(available)
	check(t, err)
	for want, o := range map[string]Options{
		"--iface nosuch0: no such interface":                                               {Device: "nosuch0"},
		"--mss 40: out of the kernel's range, 88 to 32767 bytes":                           {MSS: 40},
		"--mss 40000: out of the kernel's range, 88 to 32767 bytes":                        {MSS: 40_000},
		"--congestion hope: the kernel has no such congestion control, but " + join(names): {Congestion: "hope"},
		"--ttl 256": {TTL: 256},
	} {
		err := l.A().Do(func() error {
			conn, _, err := Dial(t.Context(), netip.AddrPort{}, netip.AddrPortFrom(l.B().Addr4, testPort), o)
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial: %v, want %q", err, want)
		}
	}
}

func join(names []byte) string { return strings.Join(strings.Fields(string(names)), ", ") }

func TestDialTellsTheHandshakeAndBinds(t *testing.T) {
	l := newLab(t, lab.Config{})
	c := connect(t, l, l.B().Addr4, Options{}, Options{})
	info, err := ReadInfo(c.client)
	check(t, err)
	if c.took <= 0 || c.took < *info.MinRTT/2 {
		t.Errorf("the handshake took %v, less than the round trip of %v", c.took, *info.MinRTT)
	}
	local := netip.AddrPortFrom(l.A().Addr4, 40_123)
	err = l.A().Do(func() error {
		_, _, err := Dial(t.Context(), local, netip.AddrPortFrom(l.B().Addr4, 1), Options{})
		return err
	})
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), local.String()) {
		t.Errorf("Dial of a closed port = %v, want it refused, from %v", err, local)
	}
}
