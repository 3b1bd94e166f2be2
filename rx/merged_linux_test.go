package rx

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"

	"linerate/internal/probe"
	"linerate/rx/track"
)

// features switches offloads of the host's interface.
func (h *testHost) features(tb testing.TB, change map[string]bool) {
	tb.Helper()
	h.do(tb, func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer e.Close()
		return e.Change(h.iface, change)
	})
}

// TestMerged is BC-120: of ten thousand datagrams each one is counted, whether
// GSO never took them apart, GRO put them together again, or neither, and the odd
// ones at the end of a train as well.
func TestMerged(t *testing.T) {
	const (
		datagrams, train = 10_000, 20
		size, odd        = 1000, 321
		bytes            = datagrams / train * ((train-1)*size + odd)
	)
	for _, by := range []string{"GSO", "GRO", "nobody"} {
		a, b := newPair(t)
		if by != "GSO" { // cut up before the wire
			a.features(t, map[string]bool{"tx-udp-segmentation": false})
		}
		if by == "GRO" {
			b.features(t, map[string]bool{"rx-gro": true, "rx-udp-gro-forwarding": true})
		}
		for _, path := range pathNames() {
			for _, to := range []netip.AddrPort{server4, server6} {
				t.Run(fmt.Sprint(by, "/", path, "/", to.Addr()), func(t *testing.T) {
					s := newStream(t)
					c := s.config("[::]:5201")
					c.Window, c.Verify = 64<<20, true
					r := b.open(t, path, c)
					conn := a.dial(t, to)
					for range datagrams / train {
						s.train(t, conn, train, size, odd)
					}
					if got := s.receive(t, r); got != datagrams {
						t.Errorf("%d handed over, want %d", got, datagrams)
					}
					want := track.Counts{Packets: datagrams, PayloadBytes: bytes, Unique: datagrams, UniquePayloadBytes: bytes}
					if diff := cmp.Diff(want, s.tracker.Totals().Counts); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
					splitter, ok := r.(Splitter)
					if !ok {
						return
					}
					// What GRO merges, if anything, is up to when the packets come.
					got := splitter.Merged()
					if path == "afxdp" { // an XDP program gets frames before anything merges them
						if got != (Merged{}) {
							t.Errorf("merged: %+v", got)
						}
						return
					}
					if by == "GSO" && got != (Merged{datagrams / train, datagrams}) ||
						by == "GRO" && (got.Datagrams < 2*got.Frames || got.Datagrams > datagrams) ||
						by == "nobody" && got != (Merged{}) {
						t.Errorf("merged: %+v", got)
					}
				})
			}
		}
	}
}

func TestHandMerged(t *testing.T) {
	for _, c := range []struct {
		size, segment, want int
		merged              Merged
	}{
		{0, 0, 1, Merged{}},
		{100, 0, 1, Merged{}},
		{100, 100, 1, Merged{}},
		{99, 100, 1, Merged{}},
		{101, 100, 2, Merged{1, 2}},
		{200, 100, 2, Merged{1, 2}},
		{65507, 18, 3640, Merged{1, 3640}},
	} {
		var m Merged
		got := m.hand(track.New(track.Config{Format: probe.Native}), make([]byte, c.size), c.size, c.segment, probe.Source{}, 1)
		if got != c.want || m != c.merged {
			t.Errorf("%d bytes in segments of %d: %d datagrams, merged %+v; want %d, %+v", c.size, c.segment, got, m, c.want, c.merged)
		}
	}
}
