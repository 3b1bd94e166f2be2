package cli

import (
	"fmt"
	"math"
	"testing"

	"linerate/internal/lab"
)

// TestStockClientOfServer has a stock client send what linerate serve counts, and
// count what it sends (rows 24 to 30 of the matrix): the client prints the truth,
// whatever the wire does.
func TestStockClientOfServer(t *testing.T) {
	tests := []struct {
		name, args       string
		out, in          int // streams each way
		packets          uint64
		mtu              int
		uncounted        bool // by the host in between: fragments, or super-frames
		forward, reverse lab.Impairment
	}{
		{name: "forward", args: "-b 2M -t 1", out: 1},
		{name: "reverse", args: "-R -b 2M -t 1", in: 1},
		{name: "bidir", args: "--bidir -b 2M -t 1", out: 1, in: 1},
		{name: "forward of four", args: "-P 4 -b 1M -k 200", out: 4, packets: 200},
		{name: "reverse of four", args: "-R -P 4 -b 1M -k 200", in: 4},
		{name: "bidir of two", args: "--bidir -P 2 -b 1M -k 200", out: 2, in: 2},
		{name: "wide counters", args: "--udp-counters-64bit -b 5M -k 100", out: 1},
		{name: "wide counters in reverse", args: "--udp-counters-64bit -R -b 5M -k 100", in: 1},
		{name: "wide counters both ways", args: "--udp-counters-64bit --bidir -b 5M -k 100", out: 1, in: 1},
		{name: "smallest", args: "-l 16 -b 500K -k 200", out: 1, packets: 200},
		{name: "smallest in reverse", args: "-l 16 -R -b 20K -k 50", in: 1},
		{name: "largest whole", args: "-l 1472 -b 10M -k 200", out: 1, packets: 200},
		{name: "jumbo", args: "-l 8192 -b 20M -k 300", out: 1, packets: 300, mtu: 9000},
		{name: "fragments", args: "-l 8192 -b 20M -k 300", out: 1, packets: 300, uncounted: true},
		{name: "fragments in reverse", args: "-R -l 8192 -b 5M -k 50", in: 1, uncounted: true},
		{name: "largest in fragments", args: "-l 65507 -b 20M -k 30", out: 1, packets: 30, uncounted: true},
		{name: "bytes", args: "-n 100K -l 1000 -b 2M", out: 1, packets: 103},
		{name: "bytes in reverse", args: "-R -n 100K -l 1000 -b 2M", in: 1},
		{name: "port", args: "--cport 40000 --bidir -P 2 -b 1M -k 100", out: 2, in: 2},
		{name: "burst", args: "-b 5M/10 -k 100", out: 1},
		{name: "burst in reverse", args: "-R -b 5M/10 -k 100", in: 1},
		{name: "as fast as it can", args: "-b 0 -k 1000 -w 4M", out: 1, packets: 1000},
		{name: "ipv6", args: "-6 -b 5M -k 100", out: 1, packets: 100},
		{name: "ipv6 reverse", args: "-6 -R -b 5M -k 100", in: 1},

		{name: "each fourth lost", args: "-b 5M -k 200", out: 1, packets: 200, forward: lab.Impairment{DropEvery: 4}},
		{name: "each fifth twice", args: "-b 5M -k 200", out: 1, packets: 200, forward: lab.Impairment{DupEvery: 5}},
		{name: "lost and twice", args: "-b 5M -k 200", out: 1, packets: 200, forward: lab.Impairment{DropEvery: 4, DupEvery: 5}},
		{name: "out of order", args: "-b 5M -k 200", out: 1, packets: 200, forward: lab.Impairment{DelayEvery: 7}},
		{name: "tail lost", args: "-b 5M -k 100", out: 1, packets: 100, forward: lab.Impairment{DropFrom: 81, DropTo: math.MaxUint64}},
		{name: "all lost", args: "-b 5M -k 100", out: 1, packets: 100, forward: lab.Impairment{DropFrom: 1, DropTo: math.MaxUint64}},
		{name: "all of it in four streams", args: "-P 4 -b 2M -k 400", out: 4, packets: 400,
			forward: lab.Impairment{DropEvery: 10, DupEvery: 7, DelayEvery: 9}},
		{name: "lost in reverse", args: "-R -b 5M -k 100", in: 1, reverse: lab.Impairment{DropEvery: 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := lab.Config{MTU: test.mtu, Impair: &test.forward, Reverse: &test.reverse}
			if test.forward.DelayEvery > 0 {
				c.Delay = delay
			}
			s := meet(t, c)
			server := s.serve("linerate serve --one-off --json")
			host := "10.77.0.2"
			if test.args[:2] == "-6" {
				host = "fd77::2"
			}
			theirs := s.client(0, fmt.Sprintf("iperf3 -u -J -c %s %s", host, test.args)).stock()
			ours := server.exit(0).ours()
			to, from := s.passed()
			streams := uint64(test.out + test.in)
			if test.out > 0 {
				sent := theirs.End.SumSent.Packets
				r := ours.Receiver
				s.equal("sent there, unique and lost here", sent, r.Unique+r.Lost)
				s.equal("lost there, here and on the way", theirs.End.SumReceived.LostPackets, r.Lost, to.Dropped)
				s.equal("duplicates", r.Duplicates, to.Duplicated)
				if !test.uncounted {
					s.equal("on the wire", sent+streams, to.Seen)
				}
				s.equal("bytes", theirs.End.SumReceived.Bytes, r.PayloadBytes)
				if test.packets > 0 {
					s.equal("asked", test.packets, sent)
				}
				if (to.Delayed > 0) != (r.Reordered > 0) {
					s.Errorf("%d were delayed, %d are told to be out of order", to.Delayed, r.Reordered)
				}
			}
			if test.in > 0 {
				sender, sum, received := ours.Sender, theirs.End.SumSent, theirs.End.SumReceived
				if test.out > 0 {
					sender, sum, received = ours.Reverse.Sender, theirs.End.SumSentBidirReverse, theirs.End.SumReceivedBidirReverse
				}
				s.equal("sent", sender.Packets, sum.Packets)
				if !test.uncounted {
					s.equal("on the wire", sender.Packets, from.Seen-streams)
				}
				// It stops counting when it stops the test: some may be on their way.
				if arrived := received.Packets; arrived == 0 || arrived > sender.Packets {
					s.Errorf("%d arrived of %d", arrived, sender.Packets)
				}
				if received.LostPackets > from.Dropped || from.Dropped > 0 && received.LostPackets == 0 {
					s.Errorf("%d are lost to the client, %d on the way", received.LostPackets, from.Dropped)
				}
			}
			s.equal("streams", streams, uint64(len(ours.Streams)))
			if want := direction(test.out, test.in); ours.Config.Peer != "iperf3" || ours.Config.Direction != want {
				s.Errorf("the report is of %s %s, want iperf3 %s", ours.Config.Peer, ours.Config.Direction, want)
			}
		})
	}
}

// direction is what a test of so many streams each way is called.
func direction(out, in int) string {
	switch {
	case in == 0:
		return "forward"
	case out == 0:
		return "reverse"
	}
	return "bidir"
}
