package track

import (
	"testing"

	"linerate/internal/probe"
)

// TestKeep leaves a warm-up out: flow 0 is what counts, flow 1 came before it and
// lost more.
func TestKeep(t *testing.T) {
	tracker := New(Config{})
	at := int64(1000)
	arrive := func(flow uint16, numbers ...uint64) {
		for _, n := range numbers {
			at += 1000
			b := native(9, flow, n)
			tracker.Datagram(b, len(b), probe.Source{}, at)
		}
	}
	arrive(1, 0, 1, 4, 5)
	begins := at + 1000
	arrive(0, 0, 1, 3, 3)
	end := probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: probe.CompressCounts([]uint64{5, 9})})
	tracker.Datagram(end, len(end), probe.Source{}, at+1000)
	tracker.Keep(1)
	got := finish(t, tracker)
	if got.Sent == nil || *got.Sent != 5 || got.Unique != 3 || got.Lost != 2 || got.Duplicates != 1 {
		t.Errorf("%+v, want 3 and a duplicate of 5", got.Summary)
	}
	if got.First != begins || len(got.Flows) != 1 || got.Bursts.Gaps != 2 {
		t.Errorf("first at %d, %d flows, %d gaps: want %d, 1, 2", got.First, len(got.Flows), got.Bursts.Gaps, begins)
	}
}

// TestKeepOfFlowsThatNeverArrived knows of the kept flows by the end marker alone.
func TestKeepOfFlowsThatNeverArrived(t *testing.T) {
	tracker := New(Config{})
	b := native(9, 2, 0)
	tracker.Datagram(b, len(b), probe.Source{}, 1000)
	end := probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: probe.CompressCounts([]uint64{7, 7, 7, 8})})
	tracker.Datagram(end, len(end), probe.Source{}, 2000)
	tracker.Keep(2)
	if got := finish(t, tracker); got.Sent == nil || *got.Sent != 14 || got.Lost != 14 || got.Unique != 0 {
		t.Errorf("%+v, want 14 lost of 14", got.Summary)
	}
}
