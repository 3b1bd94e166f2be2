package rx

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// spurts hands over datagrams of a stream at given times after the first call.
type spurts struct {
	stream *testStream
	at     []time.Duration
	begun  time.Time
}

func (s *spurts) Receive(t *track.Tracker, until time.Time) (int, error) {
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	if len(s.at) == 0 || s.begun.Add(s.at[0]).After(until) {
		time.Sleep(time.Until(until))
		return 0, nil
	}
	time.Sleep(time.Until(s.begun.Add(s.at[0])))
	s.at = s.at[1:]
	t.Datagram(s.stream.payload(100), 100, probe.Source{}, linux.Monotonic())
	return 1, nil
}

func (*spurts) Drops() (Drops, error) { return Drops{}, nil }
func (*spurts) Close() error          { return nil }

// Who counts hears when packets come, and when they no longer do.
func TestCountTellsWhenPacketsCome(t *testing.T) {
	stream := newStream(t)
	r := &spurts{stream: stream, at: []time.Duration{20 * time.Millisecond, 25 * time.Millisecond, 250 * time.Millisecond}}
	var heard []bool
	ticks := Ticks{Coming: func(now bool) { heard = append(heard, now) }}
	o, err := Count(t.Context(), r, stream.tracker, Limits{Silence: 8 * patience}, ticks, nil)
	must(t, err)
	if diff := cmp.Diff([]bool{true, false, true, false}, heard); diff != "" || o.Reason != Silent || stream.tracker.Totals().Packets != 3 {
		t.Errorf("reason %d after %d packets: %s", o.Reason, stream.tracker.Totals().Packets, diff)
	}
}

// marked hands over the first of two numbers and then the word that both were sent.
type marked struct {
	waits int // calls since then
}

func (m *marked) Receive(t *track.Tracker, until time.Time) (int, error) {
	if !t.Started() {
		p := make([]byte, 100)
		probe.Native.Init(p)
		s := probe.Stamper{Format: probe.Native}
		s.Put(p, 0, 0, linux.Monotonic())
		t.Datagram(p, len(p), probe.Source{}, linux.Monotonic())
		end := probe.AppendEnd(nil, &probe.EndMarker{Counts: probe.CompressCounts([]uint64{2})})
		t.Datagram(end, len(end), probe.Source{}, linux.Monotonic())
		return 2, nil
	}
	m.waits++
	time.Sleep(time.Until(until))
	return 0, nil
}

func (*marked) Drops() (Drops, error) { return Drops{}, nil }
func (*marked) Close() error          { return nil }

// After the end, what is missing is waited for in peace: no interval ends any more.
func TestCountWaitsAtRest(t *testing.T) {
	r := &marked{}
	o, err := Count(t.Context(), r, track.New(track.Config{}), Limits{Drain: 4 * patience}, Ticks{Every: patience / 10}, func() {})
	must(t, err)
	if o.Reason != Finished || r.waits == 0 || r.waits > 8 {
		t.Errorf("reason %d after %d looks, want no more than 8", o.Reason, r.waits)
	}
}

// waiting has n datagrams of a stream that came before anyone looked.
type waiting struct {
	stream *testStream
	n      int
}

func (w *waiting) Receive(t *track.Tracker, _ time.Time) (int, error) {
	if w.n == 0 {
		return 0, nil
	}
	w.n--
	t.Datagram(w.stream.payload(100), 100, probe.Source{}, linux.Monotonic())
	return 1, nil
}

func (*waiting) Drops() (Drops, error) { return Drops{}, nil }
func (*waiting) Close() error          { return nil }

// Who stops a count, or a link that fails, does not take from it what had come.
func TestCountTakesWhatHadCome(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	stream := newStream(t)
	o, err := Count(ctx, &waiting{stream, 10}, stream.tracker, Limits{}, Ticks{}, nil)
	must(t, err)
	if n := stream.tracker.Totals().Packets; o.Reason != Stopped || n != 10 {
		t.Errorf("reason %d after %d packets, want all 10", o.Reason, n)
	}
}
