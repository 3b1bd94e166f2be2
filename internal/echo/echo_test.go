package echo

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linerate/internal/linux"
	"linerate/internal/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen opens a socket at a loopback address of either family.
func listen(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dial opens a socket that is connected to another.
func dial(t *testing.T, to *net.UDPConn) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, to.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// reflector serves at a loopback address until the test ends.
func reflector(t *testing.T, addr string, token []byte) *net.UDPConn {
	t.Helper()
	conn := listen(t, addr)
	r, err := NewReflector(conn, netip.MustParseAddr(addr), token)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); r.Serve() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return conn
}

// untilSent lets a prober send at least n probes and ends it.
func untilSent(t *testing.T, p *Prober, n uint64, patience time.Duration) Account {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); p.sent.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d probes left", p.sent.Load())
		}
	}
	return p.Finish(patience)
}

func TestEveryProbeComesBack(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		token := NewToken()
		p, err := Start(dial(t, reflector(t, addr, token)), time.Now(), time.Second/2000, token)
		if err != nil {
			t.Fatal(err)
		}
		a := untilSent(t, p, 200, 5*time.Second)
		if a.Sent < 200 || a.Lost != 0 || a.Times.N() != a.Sent {
			t.Errorf("%s: %d sent, %d lost, %d timed", addr, a.Sent, a.Lost, a.Times.N())
		}
		if ts := a.Times; !(0 <= ts.Min() && ts.Min() <= ts.At(500_000) && ts.At(500_000) <= ts.At(999_000) && ts.At(999_000) <= ts.Max()) {
			t.Errorf("%s: min %d, p50 %d, p99.9 %d, max %d", addr, ts.Min(), ts.At(500_000), ts.At(999_000), ts.Max())
		}
	}
}

// relayed lets probes go to something else than a reflector, which gets each and
// what may be sent back, and returns the account of at least n of them.
func relayed(t *testing.T, n uint64, patience time.Duration, answer func(seq uint64, payload []byte, back func([]byte))) Account {
	t.Helper()
	relay := listen(t, "127.0.0.1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		var b [200]byte
		for {
			n, from, err := relay.ReadFromUDPAddrPort(b[:])
			if err != nil {
				return
			}
			h, _ := probe.Native.Parse(b[:n])
			answer(h.Seq, b[:n], func(p []byte) { relay.WriteToUDPAddrPort(p, from) })
		}
	}()
	p, err := Start(dial(t, relay), time.Now(), time.Millisecond, NewToken())
	if err != nil {
		t.Fatal(err)
	}
	a := untilSent(t, p, n, patience)
	relay.Close()
	<-done
	return a
}

func TestLostProbesAreCountedExactly(t *testing.T) {
	a := relayed(t, 100, 300*time.Millisecond, func(seq uint64, b []byte, back func([]byte)) {
		if seq%7 == 6 {
			return
		}
		answer := probe.Reflect(b, 1, 2)
		back(answer)
		back(answer) // a copy
		other := bytes.Clone(answer)
		other[probe.RunOffset]++
		back(other)
		other = bytes.Clone(answer)
		other[probe.SeqOffset]++ // a number far ahead
		back(other)
		back(answer[:len(answer)-1])
		back([]byte("garbage"))
	})
	if want := a.Sent / 7; a.Lost != want || a.Times.N() != a.Sent-want {
		t.Errorf("%d of %d lost, %d timed; want %d lost", a.Lost, a.Sent, a.Times.N(), want)
	}
}

// What the reflector keeps a probe for is no part of the round trip.
func TestTurnaroundIsTakenOut(t *testing.T) {
	const kept = 30 * time.Millisecond
	a := relayed(t, 30, 5*time.Second, func(_ uint64, b []byte, back func([]byte)) {
		arrived := linux.Monotonic()
		time.Sleep(kept)
		back(probe.Reflect(b, arrived, linux.Monotonic()))
	})
	if a.Lost != 0 || a.Times.Min() >= int64(kept) {
		t.Errorf("%d lost, the shortest trip took %v", a.Lost, time.Duration(a.Times.Min()))
	}
}

// A reflector can't have kept a probe for longer than it was away.
func TestImpossibleTurnaroundIsNotBelieved(t *testing.T) {
	a := relayed(t, 20, 50*time.Millisecond, func(_ uint64, b []byte, back func([]byte)) {
		back(probe.Reflect(b, 0, int64(time.Hour)))
	})
	if a.Lost != a.Sent {
		t.Errorf("%d of %d lost, want all", a.Lost, a.Sent)
	}
}

// Nothing else than a probe of the client with the token draws an answer.
func TestReflectorIgnoresStrangers(t *testing.T) {
	token := NewToken()
	at := reflector(t, "127.0.0.1", token)
	good := make([]byte, probeSize)
	stamper := probe.Stamper{Format: probe.Native, Run: 1}
	stamper.Put(good, 0, 5, linux.Monotonic())
	copy(good[tokenOffset:], token)
	changed := func(at int) []byte {
		b := bytes.Clone(good)
		b[at]++
		return b
	}
	conn := dial(t, at)
	for what, b := range map[string][]byte{
		"another token": changed(tokenOffset), "the token's last byte": changed(probeSize - 1), "another magic": changed(0),
		"shorter": good[:probeSize-1], "longer": append(bytes.Clone(good), 0), "empty": {}, "no token": good[:tokenOffset],
		"reflection": append(bytes.Clone(probe.Reflect(bytes.Clone(good), 1, 2)), token...),
	} {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		silentTo(t, what, conn)
	}
	// From another address of this host.
	other, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}, at.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.Write(good)
	silentTo(t, "a third address", other)
	conn.Write(good)
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var b [200]byte
	n, err := conn.Read(b[:])
	if r, ok := probe.ParseReflection(b[:n]); err != nil || !ok || r.Seq != 5 || n >= len(good) {
		t.Errorf("%x, %v", b[:n], err)
	}
}

// silentTo wants no answer to come to a socket.
func silentTo(t *testing.T, what string, conn *net.UDPConn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: %d bytes came back, %v", what, n, err)
	}
}
