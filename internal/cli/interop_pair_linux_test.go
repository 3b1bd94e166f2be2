package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// TestPairUDP runs tests between two linerates (row 40 of the matrix): both ends'
// accounts and the host in between agree to the packet, whatever it does (BC-003),
// with a beginning left out (BC-001), and with intervals of any length (BC-066).
func TestPairUDP(t *testing.T) {
	tests := []struct {
		name, args string
		out, in    bool
		packets    uint64 // of each direction; 0 if time ends the test
		wire, back lab.Impairment
	}{
		{name: "forward", args: "-b 2M -t 1", out: true},
		{name: "reverse", args: "-R -b 2M -t 1", in: true},
		{name: "bidir", args: "--bidir -b 2M -t 1", out: true, in: true},
		{name: "forward of three", args: "-P 3 -k 300 -b 5M", out: true, packets: 300},
		{name: "reverse of three", args: "-R -P 3 -k 300 -b 5M", in: true, packets: 300},
		{name: "bidir of three", args: "--bidir -P 3 -k 300 -b 5M", out: true, in: true, packets: 300},
		{name: "one packet", args: "-k 1", out: true, packets: 1},
		{name: "one packet in reverse", args: "-R -k 1", in: true, packets: 1},
		{name: "short", args: "-t 10ms -b 10M", out: true},
		{name: "smallest", args: "--frame 64 -k 500 -b 1M", out: true, packets: 500},
		{name: "mix", args: "--imix simple -k 480 -b 5M", out: true, packets: 480},
		{name: "mix in reverse", args: "-R --imix simple -k 480 -b 5M", in: true, packets: 480},
		{name: "ipv6", args: "-6 -k 200 -b 5M", out: true, packets: 200},
		{name: "ipv6 reverse", args: "-6 -R -k 200 -b 5M", in: true, packets: 200},
		{name: "fragments", args: "-l 8192 -k 100 -b 20M", out: true, packets: 100},
		{name: "fragments in reverse", args: "-R -l 8192 -k 100 -b 20M", in: true, packets: 100},
		{name: "fragments over ipv6", args: "-6 -l 8192 -k 100 -b 20M", out: true, packets: 100},
		{name: "two packets of three streams", args: "-P 3 -k 2", out: true, packets: 2},
		{name: "one more than even", args: "-P 3 -k 1001 -b 20M", out: true, packets: 1001},
		{name: "interval longer than the test", args: "-k 200 -b 5M -i 60", out: true, packets: 200},
		{name: "tiny intervals", args: "--bidir -k 200 -b 5M -i 1ms", out: true, in: true, packets: 200},
		{name: "verified", args: "--verify --pattern random -k 200 -b 5M", out: true, packets: 200},

		{name: "lost", args: "-k 200 -b 5M", out: true, packets: 200, wire: lab.Impairment{DropEvery: 4}},
		{name: "twice", args: "-k 200 -b 5M", out: true, packets: 200, wire: lab.Impairment{DupEvery: 5}},
		{name: "lost and twice", args: "-k 400 -b 5M", out: true, packets: 400, wire: lab.Impairment{DropEvery: 4, DupEvery: 5}},
		{name: "out of order", args: "-k 200 -b 5M", out: true, packets: 200, wire: lab.Impairment{SwapEvery: 10}},
		{name: "tail lost", args: "-k 100 -b 5M", out: true, packets: 100, wire: lab.Impairment{DropFrom: 80, DropTo: math.MaxUint64}},
		{name: "all lost", args: "-k 100 -b 5M", out: true, packets: 100, wire: lab.Impairment{DropTo: math.MaxUint64}},
		{name: "lost in reverse", args: "-R -k 200 -b 5M", in: true, packets: 200, back: lab.Impairment{DropEvery: 4, DupEvery: 5}},
		{name: "tail lost in reverse", args: "-R -k 100 -b 5M", in: true, packets: 100, back: lab.Impairment{DropFrom: 80, DropTo: math.MaxUint64}},
		{name: "all lost in reverse", args: "-R -k 100 -b 5M", in: true, packets: 100, back: lab.Impairment{DropTo: math.MaxUint64}},
		{name: "lost both ways", args: "--bidir -k 200 -b 5M", out: true, in: true, packets: 200,
			wire: lab.Impairment{DropEvery: 4}, back: lab.Impairment{DropEvery: 3}},
		{name: "omit", args: "-O 1 -t 1 -b 2M", out: true},
		{name: "omit in reverse", args: "-R -O 1 -t 1 -b 2M", in: true},
		{name: "omit both ways", args: "--bidir -O 1 -t 1 -b 2M", out: true, in: true},
		{name: "omit of two", args: "-P 2 -O 1 -t 1 -b 4M", out: true, wire: lab.Impairment{DropEvery: 4}},
		{name: "omit and lost in reverse", args: "-R -O 1 -t 1 -b 4M", in: true, back: lab.Impairment{DropEvery: 4}},
		{name: "omit and count in the kernel", args: "-P 2 --rx ebpf -O 1 -t 1 -b 4M", out: true, wire: lab.Impairment{DropEvery: 4}},
		{name: "omit at full speed", args: "--path udp -b max -l 1000 -O 1 -t 1", out: true},
	}
	for _, path := range []string{"udp", "packet", "ring", "afxdp"} {
		for _, rx := range []string{"udp", "packet", "ebpf"} {
			tests = append(tests, tests[0])
			last := &tests[len(tests)-1]
			last.name, last.args, last.packets = path+" to "+rx, fmt.Sprintf("--bidir --path %s --rx %s -k 200 -b 5M", path, rx), 200
			last.in = true
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.wire.Magic, test.back.Magic = probe.MagicData, probe.MagicData
			s := meet(t, lab.Config{Impair: &test.wire, Reverse: &test.back})
			server := s.serve("linerate serve --one-off --json")
			ours := s.client(0, fmt.Sprintf("linerate test %s --json --no-gso %s", hostOf(test.args), test.args)).ours()
			theirs := server.exit(0).ours()
			to, from := s.passed()
			d, there := first(ours), first(theirs)
			counted := !strings.Contains(test.args, "8192") // fragments are not
			check := func(what string, counts lab.ImpairCounts) {
				sent, _, lost := s.whole(what, d)
				s.equal(what+": sent, there", sent, there.Sender.Packets)
				s.intervals(ours, what, d)
				if strings.Contains(test.args, "-O") {
					s.omitted(what, sent, lost, counts)
					return
				}
				if counted {
					s.equal(what+": sent and passed", sent, counts.Seen)
				}
				s.equal(what+": lost", lost, counts.Dropped)
				s.equal(what+": duplicates", d.Receiver.Duplicates, counts.Duplicated)
				s.equal(what+": reordered", d.Receiver.Reordered, counts.Swapped)
				if test.packets > 0 {
					s.equal(what+": asked", test.packets, sent)
				}
				if strings.Contains(test.args, "verify") && (d.Receiver.Corrupt == nil || *d.Receiver.Corrupt != 0) {
					s.Errorf("%s: corrupt: %v", what, d.Receiver.Corrupt)
				}
			}
			if test.out {
				check("forward", to)
				d, there = reverseOf(ours), reverseOf(theirs)
			}
			if test.in {
				check("reverse", from)
			}
		})
	}
}

// fewEnough packets a receiver on a busy machine takes without losing any.
const fewEnough = 2000

// omitted wants a test without its first half to have its share of what was lost on
// the way: each n-th packet, to one.
func (s *stage) omitted(what string, sent, lost uint64, counts lab.ImpairCounts) {
	s.Helper()
	if sent == 0 || sent >= counts.Seen {
		s.Errorf("%s: %d of %d packets count", what, sent, counts.Seen)
	}
	if counts.Seen > fewEnough {
		return // the receiver itself may have lost some
	}
	if share := sent * counts.Dropped / counts.Seen; lost > share+1 || lost+1 < share {
		s.Errorf("%s: %d of %d lost, want %d", what, lost, sent, share)
	}
}

// intervals wants the rows of a direction to sum up to its totals.
func (s *stage) intervals(r *result.Report, what string, d result.Direction) {
	s.Helper()
	var sent, came, unique uint64
	for _, iv := range r.Intervals {
		if iv.Omitted {
			continue
		}
		sender, receiver := iv.Sender, iv.Receiver
		if what == "reverse" && r.Reverse != nil {
			if iv.Reverse == nil {
				continue
			}
			sender, receiver = iv.Reverse.Sender, iv.Reverse.Receiver
		}
		if sender != nil {
			sent += sender.Packets
		}
		if receiver != nil {
			came += receiver.Packets
			unique += receiver.Unique
		}
	}
	s.equal(what+": sent, and in the rows", d.Sender.Packets, sent)
	s.equal(what+": arrived, and in the rows", d.Receiver.Packets, came)
	s.equal(what+": unique, and in the rows", d.Receiver.Unique, unique)
}
