package rx

import (
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// A testStream writes numbered payloads and counts what of them comes back. Its
// format is one that tells flows apart by where they come from.
type testStream struct {
	stamper probe.Stamper
	pattern probe.Pattern
	tracker *track.Tracker
	next    uint64
}

func newStream(tb testing.TB) *testStream {
	tb.Helper()
	pattern, err := probe.ParsePattern("random")
	must(tb, err)
	offset := linux.WallOffset()
	return &testStream{
		stamper: probe.Stamper{Format: probe.IPerf2, WallOffset: offset},
		pattern: pattern,
		tracker: track.New(track.Config{Format: probe.IPerf2, Pattern: &pattern, WallOffset: offset}),
	}
}

// payload is the next one of the stream.
func (s *testStream) payload(size int) []byte {
	b := make([]byte, size)
	probe.IPerf2.Init(b)
	s.stamper.Put(b, 0, s.next, linux.Monotonic())
	if reserved := probe.IPerf2.Reserved(); size > reserved {
		s.pattern.Fill(b[reserved:], reserved)
	}
	s.next++
	return b
}

// receive takes what waits at r and what comes until nothing has for a while.
func (s *testStream) receive(tb testing.TB, r Receiver) (handed int) {
	tb.Helper()
	for {
		n, err := r.Receive(s.tracker, time.Now().Add(20*time.Millisecond))
		must(tb, err)
		if n == 0 {
			return handed
		}
		handed += n
	}
}

// config lets a path see whole payloads.
func (s *testStream) config(local string) Config {
	return Config{Local: netip.MustParseAddrPort(local), Window: 8 << 20, Capture: math.MaxUint16}
}

// kernelPath says whether a path is a UDP socket.
func kernelPath(path string) bool { return path == "udp" || path == "gro" }

// pathNames are those of the paths that hand datagrams over, of any format.
func pathNames() (names []string) {
	for _, p := range Paths {
		if !p.InKernel {
			names = append(names, p.Name)
		}
	}
	return names
}

func frames(tb testing.TB, r Receiver) Frames {
	tb.Helper()
	f, ok := r.(Framed)
	if !ok {
		tb.Fatalf("%T sees no frames", r)
	}
	return f.Frames()
}

func dropsOf(tb testing.TB, r Receiver) uint64 {
	tb.Helper()
	d, err := r.Drops()
	must(tb, err)
	return d.Socket + d.Program
}

// train sends payloads of a stream, of the given size but for the last, in one
// call: they cross a veth pair as one frame.
func (s *testStream) train(tb testing.TB, conn *net.UDPConn, n, size, last int) {
	tb.Helper()
	rc, err := conn.SyscallConn()
	must(tb, err)
	must(tb, rc.Control(func(fd uintptr) {
		must(tb, unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size))
	}))
	var all []byte
	for range n - 1 {
		all = append(all, s.payload(size)...)
	}
	_, err = conn.Write(append(all, s.payload(last)...))
	must(tb, err)
}
