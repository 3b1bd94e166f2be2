package cli

import (
	"fmt"
	"math"
	"testing"

	"linerate/internal/iperf3/iperf3test"
	"linerate/internal/lab"
)

// TestStockVerdict has a stock server judge a bad wire: what it says is what is
// known of its arithmetic, and our report of it is no better than that and no
// worse (row 16 of the matrix).
func TestStockVerdict(t *testing.T) {
	const packets = 200
	tests := []struct {
		name   string
		wire   lab.Impairment
		lost   uint64 // that our report can know of
		unseen bool   // and the server can't
	}{
		{name: "clean"},
		{name: "each fourth lost", wire: lab.Impairment{DropEvery: 4}, lost: 50},
		{name: "each fifth twice", wire: lab.Impairment{DupEvery: 5}},
		{name: "lost, and made good by copies", wire: lab.Impairment{DropEvery: 10, DupEvery: 7}, lost: 20},
		{name: "tail lost", wire: lab.Impairment{DropFrom: 181, DropTo: math.MaxUint64}, lost: 20, unseen: true},
		{name: "all lost", wire: lab.Impairment{DropFrom: 1, DropTo: math.MaxUint64}, lost: packets, unseen: true},
	}
	for _, path := range []string{"udp", "packet"} {
		for _, test := range tests {
			t.Run(path+" "+test.name, func(t *testing.T) {
				s := meet(t, lab.Config{Impair: &test.wire})
				server := s.serve("iperf3 -s -1 -J")
				ours := s.client(0, fmt.Sprintf("linerate test 10.77.0.2 --json -b 5M -k %d --path %s", packets, path)).ours()
				theirs := server.exit(0).stock().End
				want, copies := judge(&test.wire, packets)
				got := theirs.Streams[0].UDP
				s.equal("highest number", theirs.SumReceived.Packets, uint64(want.Packets))
				s.equal("lost", theirs.SumReceived.LostPackets, uint64(want.Lost))
				s.equal("out of order", got.OutOfOrder, uint64(want.OutOfOrder))
				sent, _, lost := s.whole("forward", first(ours))
				s.equal("sent", packets, sent)
				to, _ := s.passed()
				s.equal("lost", to.Dropped, test.lost)
				s.equal("copies", to.Duplicated, copies)
				if test.unseen {
					s.equal("lost by the sender's count", test.lost, lost)
				}
				if lost > test.lost {
					s.Errorf("%d of %d lost are reported: more than there were", lost, test.lost)
				}
			})
		}
	}
}

// judge is a stock server's verdict of the numbers 1 to n behind a wire, of which
// the hello is the first datagram, and how many copies the wire made.
func judge(wire *lab.Impairment, n int64) (v iperf3test.Verdict, copies uint64) {
	for number := int64(1); number <= n; number++ {
		index := uint64(number)
		every := func(k uint64) bool { return k > 0 && index%k == k-1 }
		if every(wire.DropEvery) || wire.DropFrom <= index && index < wire.DropTo {
			continue
		}
		v.Arrive(number)
		if every(wire.DupEvery) {
			copies++
			v.Arrive(number)
		}
	}
	return v, copies
}
