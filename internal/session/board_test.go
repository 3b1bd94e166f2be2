package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// rowsSeen is an observer that counts.
type rowsSeen struct{ n int }

func (*rowsSeen) Started(*result.Report)                      {}
func (o *rowsSeen) Interval(*result.Report, *result.Interval) { o.n++ }
func (*rowsSeen) Progress(string)                             {}

// A sender's clock may put its last packets into an interval that the receiver's does
// not have.
func TestLastRowIsWhole(t *testing.T) {
	rep, seen := &result.Report{}, &rowsSeen{}
	b := board{rep: rep, o: seen, parts: 2}
	sent := func(at, packets int) result.Interval {
		return result.Interval{StartS: float64(at), EndS: float64(at + 1), Sender: &result.SenderInterval{
			Seconds: 1, IntervalSent: &result.IntervalSent{Packets: uint64(packets)},
		}}
	}
	b.add(sent(0, 10))
	b.add(result.Interval{StartS: 0, EndS: 1, Receiver: &result.ReceiverInterval{
		Seconds: 1, IntervalArrived: &result.IntervalArrived{Packets: 11},
	}})
	last := sent(1, 1)
	last.Reverse = &result.ReverseInterval{Sender: sent(1, 1).Sender}
	b.add(last)
	if seen.n != 1 {
		t.Fatalf("%d rows before the end, want the one that is whole", seen.n)
	}
	b.settled()
	b.end()
	if seen.n != 2 || rep.Intervals[0].Receiver.Packets != 11 {
		t.Fatalf("%d rows, the first %+v", seen.n, rep.Intervals[0])
	}
	for _, r := range []*result.ReceiverInterval{rep.Intervals[1].Receiver, rep.Intervals[1].Reverse.Receiver} {
		if r == nil || r.IntervalArrived == nil || r.Packets != 0 || r.Seconds != 1 || r.Rate != nil {
			t.Errorf("the last row has %+v, want nothing in a second", r)
		}
	}

	// What no receiver of packets tells of stays unknown.
	b = board{rep: &result.Report{}, o: seen, parts: 2}
	b.add(result.Interval{EndS: 1, Sender: &result.SenderInterval{Seconds: 1, PayloadBytes: 5}})
	b.settled()
	b.end()
	if r := b.rep.Intervals[0].Receiver; r != nil {
		t.Errorf("over TCP it has %+v", r)
	}
}

// A sender that stood still tells of three intervals at once: what the receiver tells
// stands beside the times that it is of, whatever comes first.
func TestRowsAreOfOneTime(t *testing.T) {
	interval := func(from, to float64) result.Interval { return result.Interval{StartS: from, EndS: to} }
	sent := func(from, to float64) result.Interval {
		iv := interval(from, to)
		iv.Sender = &result.SenderInterval{Seconds: to - from}
		return iv
	}
	came := func(from, to float64) result.Interval {
		iv := interval(from, to)
		iv.Receiver = &result.ReceiverInterval{Seconds: to - from}
		return iv
	}
	omitted := func(iv result.Interval) result.Interval {
		iv.Omitted = true
		return iv
	}
	rep := &result.Report{}
	b := board{rep: rep, o: &rowsSeen{}, parts: 2}
	for _, iv := range []result.Interval{
		omitted(sent(0, 1)), omitted(came(0, 1)), sent(0, 1), came(0, 1), came(1, 2), sent(1, 4), sent(4, 5), came(2, 3), came(4, 5), came(3, 4), sent(5, 6),
	} {
		b.add(iv)
	}
	b.end()
	var got [][3]any
	for _, iv := range rep.Intervals {
		got = append(got, [3]any{iv.StartS, iv.Sender != nil, iv.Receiver != nil})
	}
	want := [][3]any{
		{0., true, true}, {0., true, true}, {1., true, true}, {2., false, true}, {3., false, true}, {4., true, true}, {5., true, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
