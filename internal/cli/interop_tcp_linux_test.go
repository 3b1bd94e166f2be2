package cli

import (
	"testing"

	"linerate/internal/lab"
	"linerate/internal/result"
)

// tcpTests are of TCP streams in either role (rows 23 and 35 of the matrix); the
// arguments mean the same to both programs.
var tcpTests = []struct {
	name, args string
	out, in    int
	bytes      uint64 // exactly, of the first direction; 0 if time ends the test
}{
	{name: "forward", args: "-t 1 -b 20M", out: 1},
	{name: "reverse", args: "-t 1 -b 20M -R", in: 1},
	{name: "bidir", args: "-t 1 -b 20M --bidir", out: 1, in: 1},
	{name: "forward of two", args: "-n 1M -P 2 -b 20M", out: 2},
	{name: "reverse of two", args: "-n 1M -P 2 -b 20M -R", in: 2},
	{name: "bidir of two", args: "-n 1M -P 2 -b 20M --bidir", out: 2, in: 2},
	{name: "bytes", args: "-n 4M", out: 1, bytes: 4 << 20},
	{name: "bytes of four", args: "-n 4M -P 4", out: 4, bytes: 4 << 20},
	{name: "few bytes", args: "-n 1000 -l 1000", out: 1, bytes: 1000},
	{name: "window", args: "-n 1M -w 64K", out: 1, bytes: 1 << 20},
	{name: "mss", args: "-n 1M -M 1000", out: 1, bytes: 1 << 20},
	{name: "congestion", args: "-n 1M -C reno", out: 1, bytes: 1 << 20},
	{name: "omit", args: "-t 1 -O 1 -b 8M", out: 1},
	{name: "omit in reverse", args: "-t 1 -O 1 -b 8M -R", in: 1},
	{name: "ipv6", args: "-6 -n 1M", out: 1, bytes: 1 << 20},
}

// hostOf is host b as arguments want it.
func hostOf(args string) string {
	if args[:2] == "-6" {
		return "fd77::2"
	}
	return "10.77.0.2"
}

func TestTCPClientOfStockServer(t *testing.T) {
	for _, test := range tcpTests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := s.serve("iperf3 -s -1 -J")
			ours := s.client(0, "linerate test --tcp --json "+hostOf(test.args)+" "+test.args).ours()
			theirs := server.exit(0).stock().End
			d := first(ours)
			if test.out > 0 {
				// It closes its sockets with what it has not read by then.
				if d.Receiver == nil {
					t.Fatal("what the server received is absent")
				}
				s.equal("received there", d.Receiver.PayloadBytes, theirs.SumReceived.Bytes)
				if d.Receiver.PayloadBytes > d.Sender.PayloadBytes+omitSlack {
					t.Errorf("%d bytes arrived of %d", d.Receiver.PayloadBytes, d.Sender.PayloadBytes)
				}
				if test.bytes > 0 {
					s.equal("asked", test.bytes, d.Sender.PayloadBytes)
				}
				d = reverseOf(ours)
			}
			if test.in > 0 {
				sent := theirs.SumSent
				if test.out > 0 {
					sent = theirs.SumSentBidirReverse
				}
				s.equal("sent there", sent.Bytes, d.Sender.PayloadBytes)
				s.equal("received, and in the rows", d.Receiver.PayloadBytes, rowBytes(ours))
				if d.Receiver.PayloadBytes == 0 || d.Receiver.PayloadBytes > d.Sender.PayloadBytes+omitSlack {
					t.Errorf("%d bytes arrived of %d", d.Receiver.PayloadBytes, d.Sender.PayloadBytes)
				}
			}
			s.equal("streams", uint64(test.out+test.in), uint64(len(ours.Streams)), uint64(len(theirs.Streams)))
		})
	}
}

func TestStockTCPClientOfServer(t *testing.T) {
	for _, test := range tcpTests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := s.serve("linerate serve --one-off --json")
			theirs := s.client(0, "iperf3 -J -c "+hostOf(test.args)+" "+test.args).stock().End
			ours := server.exit(0).ours()
			d := first(ours)
			if test.out > 0 {
				s.equal("received", theirs.SumReceived.Bytes, d.Receiver.PayloadBytes)
				if omitted := ours.Config.OmitS > 0 || test.name == "omit"; !omitted {
					s.equal("sent and received", theirs.SumSent.Bytes, d.Receiver.PayloadBytes)
				}
				if test.bytes > 0 && d.Receiver.PayloadBytes < test.bytes {
					t.Errorf("%d bytes arrived of %d", d.Receiver.PayloadBytes, test.bytes)
				}
				d = reverseOf(ours)
			}
			if test.in > 0 {
				sent := theirs.SumSent
				if test.out > 0 {
					sent = theirs.SumSentBidirReverse
				}
				s.equal("sent", sent.Bytes, d.Sender.PayloadBytes)
			}
			s.equal("streams", uint64(test.out+test.in), uint64(len(ours.Streams)))
		})
	}
}

// TestPairTCP runs TCP streams between two linerates: what one end sent, the other
// received, to the byte.
func TestPairTCP(t *testing.T) {
	for _, test := range tcpTests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := s.serve("linerate serve --one-off --json")
			ours := s.client(0, "linerate test --tcp --json "+hostOf(test.args)+" "+test.args).ours()
			theirs := server.exit(0).ours()
			exact := ours.Config.OmitS == 0 // else each end omits by its own clock
			d, there := first(ours), first(theirs)
			check := func(what string) {
				if d.Sender == nil || d.Receiver == nil || there.Sender == nil && there.Receiver == nil {
					t.Fatalf("%s: an end is absent", what)
				}
				if exact {
					s.equal(what+": sent and received", d.Sender.PayloadBytes, d.Receiver.PayloadBytes)
				}
				if d.Receiver.PayloadBytes == 0 {
					t.Errorf("%s: nothing arrived", what)
				}
				if test.bytes > 0 {
					s.equal(what+": asked", test.bytes, d.Sender.PayloadBytes)
				}
			}
			if test.out > 0 {
				check("forward")
				d, there = reverseOf(ours), reverseOf(theirs)
			}
			if test.in > 0 {
				check("reverse")
			}
			s.equal("streams", uint64(test.out+test.in), uint64(len(ours.Streams)), uint64(len(theirs.Streams)))
		})
	}
}

// omitSlack is what may be under way when either end begins to count: with -O each
// does so by its own clock.
const omitSlack = 4 << 20

// reverseOf is the second direction of a report.
func reverseOf(r *result.Report) result.Direction {
	if r.Reverse == nil {
		return result.Direction{}
	}
	return *r.Reverse
}
