package session

import (
	"cmp"
	"slices"

	"linerate/internal/result"
)

// A board puts together what the parts of a test tell of the same time: both ends,
// and both directions. Their intervals begin alike, unless one of them stood still and
// tells of several at once. A row shows once it is whole, or when a later one is: a part
// may have nothing to say.
type board struct {
	rep   *result.Report // has the rows that have been shown
	o     Observer
	parts int // that make a row whole; 0 stands for 1
	rows  []row
}

// A row is one interval as far as it is known.
type row struct {
	result.Interval
	parts int
}

// inOrder compares when intervals begin: what is omitted has a time of its own, the first.
func inOrder(a, b *result.Interval) int {
	switch {
	case a.Omitted == b.Omitted:
		return cmp.Compare(a.StartS, b.StartS)
	case a.Omitted:
		return -1
	}
	return 1
}

// add takes the next interval of a part.
func (b *board) add(iv result.Interval) {
	shown := b.rep.Intervals
	if n := len(shown); n > 0 && inOrder(&iv, &shown[n-1]) <= 0 { // too late to be shown
		at, known := slices.BinarySearchFunc(shown, &iv, func(x result.Interval, iv *result.Interval) int { return inOrder(&x, iv) })
		if known {
			merge(&shown[at], iv)
		} else {
			b.rep.Intervals = slices.Insert(shown, at, iv)
		}
		return
	}
	at, known := slices.BinarySearchFunc(b.rows, &iv, func(x row, iv *result.Interval) int { return inOrder(&x.Interval, iv) })
	if !known {
		b.rows = slices.Insert(b.rows, at, row{Interval: result.Interval{StartS: iv.StartS, EndS: iv.EndS, Omitted: iv.Omitted}})
	}
	r := &b.rows[at]
	merge(&r.Interval, iv)
	r.parts++
	for i := len(b.rows) - 1; i >= 0; i-- {
		if b.rows[i].parts >= max(b.parts, 1) {
			b.show(i + 1)
			return
		}
	}
}

// show shows the first n rows that wait.
func (b *board) show(n int) {
	for _, r := range b.rows[:n] {
		b.rep.Intervals = append(b.rep.Intervals, r.Interval)
		b.o.Interval(b.rep, &b.rep.Intervals[len(b.rep.Intervals)-1])
	}
	b.rows = b.rows[n:]
}

// settled has the rows that wait say that nothing came where their receiver, which
// has told all, told nothing: its clock may put the last packets before them.
func (b *board) settled() {
	for i := range b.rows {
		iv := &b.rows[i].Interval
		iv.Receiver = orNothing(iv, iv.Sender, iv.Receiver)
		if back := iv.Reverse; back != nil {
			back.Receiver = orNothing(iv, back.Sender, back.Receiver)
		}
	}
}

// orNothing is what a receiver of packets told of an interval, or that nothing came.
func orNothing(iv *result.Interval, s *result.SenderInterval, r *result.ReceiverInterval) *result.ReceiverInterval {
	if r != nil || s == nil || s.IntervalSent == nil {
		return r
	}
	return &result.ReceiverInterval{Seconds: iv.EndS - iv.StartS, IntervalArrived: &result.IntervalArrived{}}
}

// end shows what is left.
func (b *board) end() { b.show(len(b.rows)) }

// merge adds what one part knows to what the others do.
func merge(to *result.Interval, from result.Interval) {
	if from.Sender != nil {
		to.Sender = from.Sender
	}
	if from.Receiver != nil {
		to.Receiver = from.Receiver
	}
	to.Hosts = append(to.Hosts, from.Hosts...)
	if from.Reverse == nil {
		return
	}
	if to.Reverse == nil {
		to.Reverse = &result.ReverseInterval{}
	}
	if from.Reverse.Sender != nil {
		to.Reverse.Sender = from.Reverse.Sender
	}
	if from.Reverse.Receiver != nil {
		to.Reverse.Receiver = from.Reverse.Receiver
	}
}
