package cli

import (
	"fmt"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/result"
)

// TestClientOfStockServer has a stock server judge what linerate test sends, and
// send what linerate test counts (rows 1 to 14 of the matrix of iperf3's protocol):
// both ends' counts and those of the host in between are the same.
func TestClientOfStockServer(t *testing.T) {
	tests := []struct {
		name, args string
		out, in    int    // streams each way
		packets    uint64 // of each direction in all; 0 if time ends the test
		size       uint64 // bytes of payload; 0 for 1472
		mtu        int
		fragments  bool
		unpaced    bool
	}{
		{name: "forward", args: "-b 2M -t 1", out: 1},
		{name: "reverse", args: "-R -b 2M -t 1", in: 1},
		{name: "bidir", args: "--bidir -b 2M -t 1", out: 1, in: 1},
		{name: "forward of four", args: "-P 4 -b 5M -k 200", out: 4, packets: 200},
		{name: "reverse of four", args: "-R -P 4 -b 5M -k 200", in: 4},
		{name: "bidir of two", args: "--bidir -P 2 -b 5M -k 200", out: 2, in: 2},
		{name: "smallest", args: "-l 16 -k 200 -b 500k", out: 1, packets: 200, size: 16},
		{name: "largest whole", args: "-l 1472 -k 200 -b 10M", out: 1, packets: 200},
		{name: "jumbo", args: "-l 8192 -k 300 -b 20M", out: 1, packets: 300, size: 8192, mtu: 9000},
		{name: "fragments", args: "-l 8192 -k 300 -b 20M", out: 1, packets: 300, size: 8192, fragments: true},
		{name: "largest in fragments", args: "-l 65507 -k 30 -b 20M", out: 1, packets: 30, size: 65507, fragments: true},
		{name: "packets", args: "-k 100 -b 5M", out: 1, packets: 100},
		{name: "one packet", args: "-k 1 -b 2M", out: 1, packets: 1},
		{name: "bytes", args: "-n 100K -b 2M", out: 1, packets: 70},
		{name: "packets in reverse", args: "-R -k 100 -b 5M", in: 1},
		{name: "as fast as it can", args: "-b max -k 1000 -w 4M --path udp --no-gso", out: 1, packets: 1000, unpaced: true},
		{name: "ipv6", args: "-6 -k 100 -b 5M", out: 1, packets: 100, size: 1452},
		{name: "by udp", args: "--path udp -k 100 -b 5M", out: 1, packets: 100},
		{name: "by packet", args: "--path packet -k 100 -b 5M", out: 1, packets: 100},
		{name: "by ring", args: "--path ring -k 100 -b 5M", out: 1, packets: 100},
		{name: "by afxdp", args: "--path afxdp -k 100 -b 5M", out: 1, packets: 100},
		{name: "bursts", args: "--burst 10 -k 100 -b 5M", out: 1, packets: 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{MTU: test.mtu})
			server := s.serve("iperf3 -s -1 -J")
			host := "10.77.0.2"
			if test.size == 1452 {
				host = "fd77::2"
			}
			ours := s.client(0, fmt.Sprintf("linerate test %s --json %s", host, test.args)).ours()
			theirs := server.exit(0).stock()
			to, from := s.passed()
			size := test.size
			if size == 0 {
				size = 1472
			}
			streams := uint64(test.out + test.in)
			first, second := first(ours), ours.Reverse
			if test.out > 0 {
				sent, unique, _ := s.whole("forward", first)
				s.equal("unique here, received there", unique, theirs.End.SumReceived.Packets)
				s.equal("bytes received", unique*size, first.Receiver.PayloadBytes, theirs.End.SumReceived.Bytes)
				s.equal("bytes sent", sent*size, first.Sender.PayloadBytes)
				const unread = 2 // of its socket, by a server that was busy sending when the test ended
				switch {
				case test.unpaced: // it ends with packets that it has not read
				case test.in == 0:
					s.equal("sent and received", sent, unique)
				case unique > sent || sent-unique > unread:
					t.Errorf("%d sent, %d received", sent, unique)
				}
				s.equal("lost there", 0, theirs.End.SumReceived.LostPackets)
				if !test.fragments {
					s.equal("on the wire", sent+streams, to.Seen)
				}
				if test.packets > 0 {
					s.equal("asked", test.packets, sent)
				}
			}
			if test.in > 0 {
				reverse, stock := first, theirs.End.SumSent
				if test.out > 0 {
					reverse, stock = *second, theirs.End.SumSentBidirReverse
				}
				sent, _, lost := s.whole("reverse", reverse)
				s.equal("sent there, told here, on the wire", stock.Packets, sent, from.Seen-streams)
				s.equal("lost, and overflown here", lost, overflown(reverse.Ledger))
			}
			s.equal("streams", streams, uint64(len(ours.Streams)), uint64(len(theirs.End.Streams)))
		})
	}
}

// A stock server leaves out of -R what it sent in omitted seconds of its own: both
// ends' accounts are of the client's, as a whole and by streams.
func TestOmitOfStockSender(t *testing.T) {
	s := meet(t, lab.Config{})
	server := s.serve("iperf3 -s -1")
	ours := s.client(0, "linerate test 10.77.0.2 --json -R -P 2 -O 1 -t 1 -b 4M").ours()
	server.exit(0)
	d := first(ours)
	sent, _, _ := s.whole("reverse", d)
	s.equal("bytes sent", sent*1472, d.Sender.PayloadBytes)
	s.equal("bytes received, and in the rows", d.Receiver.PayloadBytes, rowBytes(ours))
	var flows uint64
	for i := range d.Receiver.Flows {
		one, _, _ := s.whole("a stream", result.Direction{Sender: &d.Sender.Flows[i], Receiver: &d.Receiver.Flows[i]})
		flows += one
	}
	s.equal("all streams", sent, flows)
}

// rowBytes is what came by the rows of a report, of the only direction in which
// anything comes to this end.
func rowBytes(r *result.Report) (bytes uint64) {
	for _, iv := range r.Intervals {
		receiver := iv.Receiver
		if receiver == nil && iv.Reverse != nil {
			receiver = iv.Reverse.Receiver
		}
		if receiver != nil && !iv.Omitted {
			bytes += receiver.PayloadBytes
		}
	}
	return bytes
}

// overflown is what the receiving socket of a busy machine had no room for.
func overflown(l *result.Ledger) (packets uint64) {
	for _, stage := range l.Lost {
		if stage.Stage == "receiver_socket" {
			packets += stage.Packets
		}
	}
	return packets
}
