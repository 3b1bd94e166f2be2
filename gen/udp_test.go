package gen

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/probe"
)

// TestLoopback sends over the loopback, which every system has.
func TestLoopback(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range []string{"127.0.0.1", "::1"} {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 0)))
		check(err)
		defer c.Close()
		pattern, err := probe.ParsePattern("ramp")
		check(err)
		const flows, size = 3, 1000
		h := frame.Headers{Dst: netip.MustParseAddr(addr), DstPort: c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), TOS: 8 << 2, TTL: 5}
		tpl, err := frame.New(h, probe.Stamper{Run: 7}, []int{size}, flows, pattern)
		check(err)
		p, err := Find("udp")
		check(err)
		cfg := &Config{Template: tpl, Batch: 8, Window: 1 << 20}
		check(p.Probe(cfg))
		s, err := p.Open(cfg)
		check(err)

		buf := make([]byte, 2*size)
		var ports [flows]uint16
		next := func() ([]byte, uint16) {
			t.Helper()
			check(c.SetReadDeadline(time.Now().Add(5 * time.Second)))
			n, from, err := c.ReadFromUDPAddrPort(buf)
			check(err)
			return buf[:n], from.Port()
		}
		for seq := uint64(0); seq < 40; {
			n, err := s.Send(pace.Burst{Flow: uint16(seq % flows), First: seq, N: 4, Size: size})
			if n != 4 || err != nil {
				t.Fatalf("Send = %d, %v", n, err)
			}
			for i := range uint64(n) {
				b, port := next()
				want := probe.Header{Run: 7, Flow: uint16(seq % flows), Seq: seq + i}
				got, kind := probe.Native.Parse(b)
				got.Sent = 0
				if len(b) != size || kind != probe.Data || got != want || !pattern.Check(b[18:], 18) {
					t.Fatalf("%d bytes, %+v of kind %v, want %+v", len(b), got, kind, want)
				}
				if known := &ports[want.Flow]; *known == 0 {
					*known = port
				} else if *known != port {
					t.Errorf("flow %d left from port %d, then from %d", want.Flow, *known, port)
				}
			}
			seq += uint64(n)
		}
		check(s.Mark(1, []byte("the end")))
		if b, port := next(); string(b) != "the end" || port != ports[1] {
			t.Errorf("end marker %q from port %d, want %d", b, port, ports[1])
		}
		if done, err := s.Drain(t.Context()); err != nil || done != (Completed{Packets: 40}) {
			t.Errorf("Drain = %+v, %v", done, err)
		}
		for range 2 {
			check(s.Close())
		}
	}
}
