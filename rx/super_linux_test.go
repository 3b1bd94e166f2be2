package rx

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"linerate/rx/track"
)

// TestSuperframes is BC-120: datagrams that GSO merged are counted each by
// itself, whether or not their frame is longer than the interface's packets.
func TestSuperframes(t *testing.T) {
	a, b := newPair(t)
	for _, path := range pathNames() {
		for _, to := range []netip.AddrPort{server4, server6} {
			s := newStream(t)
			r := b.open(t, path, s.config("[::]:5201"))
			conn := a.dial(t, to)
			packets, bytes := 0, 0
			var merged Merged
			for _, c := range []struct{ n, size, last int }{
				{20, 1000, 1000}, {44, 1472, 100}, {64, 18, 18}, {2, 18, 18}, {7, 8000, 8000}, {3, 2000, 18}, {1, 500, 500},
			} {
				s.train(t, conn, c.n, c.size, c.last)
				packets += c.n
				bytes += (c.n-1)*c.size + c.last
				if c.n > 1 {
					merged.Frames++
					merged.Datagrams += uint64(c.n)
				}
			}
			if got := s.receive(t, r); got != packets {
				t.Errorf("%s to %v: %d handed over, want %d", path, to, got, packets)
			}
			want := track.Counts{Packets: uint64(packets), PayloadBytes: uint64(bytes), Unique: uint64(packets), UniquePayloadBytes: uint64(bytes)}
			if diff := cmp.Diff(want, s.tracker.Totals().Counts); diff != "" {
				t.Errorf("%s to %v (-want +got)\n%s", path, to, diff)
			}
			if path == "afxdp" { // its program has the sender take them apart
				merged = Merged{}
			}
			if path != "udp" {
				if diff := cmp.Diff(merged, r.(Splitter).Merged()); diff != "" {
					t.Errorf("%s to %v: merged (-want +got)\n%s", path, to, diff)
				}
			}
			if !kernelPath(path) {
				if diff := cmp.Diff(Frames{}, frames(t, r)); diff != "" {
					t.Errorf("%s to %v (-want +got)\n%s", path, to, diff)
				}
			}
			must(t, r.Close())
		}
	}
}

// TestTrimmed gives the sockets the filter that they have on a NIC: only the
// head of a jumbo frame is captured. Merged datagrams that came in such a frame
// are told by their number.
func TestTrimmed(t *testing.T) {
	a, b := newPair(t)
	program, err := filter(&Config{Local: netip.MustParseAddrPort("[::]:5201")}, maxHeaders+200, 9018)
	must(t, err)
	var code []unix.SockFilter
	for _, i := range program {
		code = append(code, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	for _, path := range []string{"packet", "ring"} {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		var fd int
		switch r := r.(type) {
		case *packetSocket:
			fd = r.fd
		case *ring:
			fd = r.fd
		}
		must(t, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}))
		conn := a.dial(t, server4)
		bytes := 0
		for _, size := range []int{18, 200, 201, 1472, 8972} {
			_, err := conn.Write(s.payload(size))
			must(t, err)
			bytes += size
		}
		s.train(t, conn, 10, 1000, 1000) // longer than a packet: captured whole
		s.train(t, conn, 4, 1000, 1000)  // not told apart
		s.receive(t, r)
		want := track.Counts{Packets: 15, PayloadBytes: uint64(bytes + 10_000), Unique: 15, UniquePayloadBytes: uint64(bytes + 10_000)}
		if diff := cmp.Diff(want, s.tracker.Totals().Counts); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		if diff := cmp.Diff(Frames{Superframes: 1}, frames(t, r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		must(t, r.Close())
	}
}
