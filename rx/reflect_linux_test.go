package rx

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// mirrored opens a receiver on the loopback that reflects, and a socket that is
// connected to it.
func mirrored(t *testing.T, addr string, every int) (Receiver, *track.Tracker, *net.UDPConn) {
	t.Helper()
	ip := netip.MustParseAddr(addr)
	spare, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		t.Fatal(err)
	}
	local := spare.LocalAddr().(*net.UDPAddr)
	spare.Close()
	config := track.Config{Format: probe.Native}
	r, err := openUDP(&Config{Local: local.AddrPort(), Capture: config.Capture(), Reflect: every})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	conn, err := net.DialUDP("udp", nil, local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return r, track.New(config), conn
}

// take lets a receiver take n datagrams.
func take(t *testing.T, r Receiver, tracker *track.Tracker, n int) {
	t.Helper()
	for n > 0 {
		got, err := r.Receive(tracker, time.Now().Add(5*time.Second))
		if err != nil || got == 0 {
			t.Fatalf("%d left, %v", n, err)
		}
		n -= got
	}
}

// silent wants nothing more to come to a socket.
func silent(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

func TestEachNthProbeIsReflected(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for _, size := range []int{18, 29, 30, 1472} {
			const packets, every = 50, 7
			r, tracker, conn := mirrored(t, addr, every)
			stamper := probe.Stamper{Format: probe.Native, Run: 9}
			b := make([]byte, size)
			for seq := range uint64(packets) {
				stamper.Put(b, 3, seq, linux.Monotonic())
				if _, err := conn.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			take(t, r, tracker, packets)
			answer := make([]byte, 2000)
			for seq := uint64(0); seq < packets; seq += every {
				conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				n, err := conn.Read(answer)
				if err != nil {
					t.Fatal(err)
				}
				got, ok := probe.ParseReflection(answer[:n])
				if !ok || n > size || got.Run != 9 || got.Flow != 3 || got.Seq != seq || got.Turnaround > int64(time.Minute) {
					t.Errorf("%s, %d bytes: %x, want number %d", addr, size, answer[:n], seq)
				}
			}
			silent(t, conn)
			const reflected = (packets + every - 1) / every
			if n := r.(Mirror).Reflected(); n != reflected {
				t.Errorf("%d reflected, want %d", n, reflected)
			}
			if totals := tracker.Totals(); totals.Unique != packets || totals.Foreign != 0 {
				t.Errorf("%+v", totals)
			}
		}
	}
}

// What is no probe draws no answer, nor does a reflection.
func TestNothingElseIsReflected(t *testing.T) {
	r, tracker, conn := mirrored(t, "127.0.0.1", 1)
	good := make([]byte, 64)
	stamper := probe.Stamper{Format: probe.Native, Run: 9}
	stamper.Put(good, 0, 0, linux.Monotonic())
	end := probe.AppendEnd(nil, &probe.EndMarker{Run: 9})
	strays := [][]byte{
		{}, good[:17], bytes.Repeat([]byte{0xb6}, 100), make([]byte, 64), end,
		probe.Reflect(bytes.Clone(good), 1, 2),
	}
	for _, b := range strays {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	take(t, r, tracker, len(strays))
	silent(t, conn)
	if n := r.(Mirror).Reflected(); n != 0 {
		t.Errorf("%d reflected", n)
	}
}

func TestReflectAllocs(t *testing.T) {
	r, tracker, conn := mirrored(t, "127.0.0.1", 1)
	stamper := probe.Stamper{Format: probe.Native, Run: 9}
	b := make([]byte, 64)
	seq := uint64(0)
	allocs := testing.AllocsPerRun(100, func() {
		stamper.Put(b, 0, seq, linux.Monotonic())
		seq++
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		take(t, r, tracker, 1)
		if _, err := conn.Read(b[:]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 && !raceEnabled {
		t.Errorf("%v allocations each", allocs)
	}
	if n := r.(Mirror).Reflected(); n != seq || n == 0 {
		t.Errorf("%d of %d reflected", n, seq)
	}
}
