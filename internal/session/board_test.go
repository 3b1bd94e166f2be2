package session

import (
	"testing"

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
	b.add(0, sent(0, 10))
	b.add(1, result.Interval{StartS: 0, EndS: 1, Receiver: &result.ReceiverInterval{
		Seconds: 1, IntervalArrived: &result.IntervalArrived{Packets: 11},
	}})
	last := sent(1, 1)
	last.Reverse = &result.ReverseInterval{Sender: sent(1, 1).Sender}
	b.add(0, last)
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
	b.add(0, result.Interval{EndS: 1, Sender: &result.SenderInterval{Seconds: 1, PayloadBytes: 5}})
	b.settled()
	b.end()
	if r := b.rep.Intervals[0].Receiver; r != nil {
		t.Errorf("over TCP it has %+v", r)
	}
}
