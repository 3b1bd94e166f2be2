package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"

	"linerate/internal/cadence"
)

// What a Tracker keeps, as track.h has it.
type (
	TrackedTest   = trackTest
	TrackedFlow   = trackFlow
	TrackedWindow = trackWindow
	TrackedDelays = trackDelays
	TrackedLane   = trackLane
	TrackedPoint  = trackPoint
)

// An Event is what has to be seen in order.
type Event struct {
	// Marker is the payload of an end marker, until the next event; nil for a step.
	Marker []byte
	// Started is whether the test had started when the marker came.
	Started bool
	// Low and High are the first copies of least and of greatest transit of a
	// step: those that were sent within 10 ms of the first of them.
	Low, High TrackedPoint
}

// Next takes the next event, waiting for it no longer than until; false if none
// came.
func (t *Tracker) Next(until time.Time) (e Event, ok bool, err error) {
	t.events.SetDeadline(until)
	if err := t.events.ReadInto(&t.record); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return e, false, nil
		}
		return e, false, fmt.Errorf("bpf: tracker's events: %w", err)
	}
	b := t.record.RawSample
	const step = 4 * 8
	if len(b) != step {
		size := binary.NativeEndian.Uint16(b[2:])
		return Event{Marker: b[4:][:size], Started: binary.NativeEndian.Uint16(b) != 0}, true, nil
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	e.Low.Sent, e.Low.Transit, e.High.Sent, e.High.Transit = word(0), word(1), word(2), word(3)
	return e, true, nil
}

// Test is what the first packet that counts made of the test.
func (t *Tracker) Test() (test TrackedTest, err error) {
	if err := t.objects.Test.Get(&test); err != nil {
		return test, fmt.Errorf("bpf: read tracker: %w", err)
	}
	return test, nil
}

// Lanes is what belongs to no flow, one of each CPU.
func (t *Tracker) Lanes(to []TrackedLane) ([]TrackedLane, error) {
	return readArray(t, t.objects.Lanes, to, int(t.objects.Lanes.MaxEntries()))
}

// Flows are the first n, also those that do not count. It uses the memory of to.
func (t *Tracker) Flows(to []TrackedFlow, n int) ([]TrackedFlow, error) {
	return readArray(t, t.objects.Flows, to, n)
}

// Windows are what the first n flows need besides.
func (t *Tracker) Windows(n int) ([]TrackedWindow, error) {
	return readArray[TrackedWindow](t, t.objects.Windows, nil, n)
}

// Arrivals is how the first copies came, of all flows; nil if none did, or some on
// several CPUs at once.
func (t *Tracker) Arrivals() (*cadence.Watch, error) {
	c := new(trackCadence)
	if err := t.objects.Arrivals.Lookup(uint32(0), c); err != nil {
		return nil, fmt.Errorf("bpf: read tracker: %w", err)
	}
	return c.watch(), nil
}

// Delays are the distributions of a flow's times; nil if it shares those of later
// flows.
func (t *Tracker) Delays(f *TrackedFlow) (*TrackedDelays, error) {
	if int(f.Place) > t.own {
		return nil, nil
	}
	return t.delays(int(f.Place) - 1)
}

// LaterDelays are those of the flows that have none of their own, one of each CPU.
func (t *Tracker) LaterDelays(cpu int) (*TrackedDelays, error) { return t.delays(t.own + cpu) }

func (t *Tracker) delays(index int) (*TrackedDelays, error) {
	d := new(TrackedDelays)
	if err := t.objects.Delays.Lookup(uint32(index), d); err != nil {
		return nil, fmt.Errorf("bpf: read tracker: %w", err)
	}
	return d, nil
}

// Samples are what each CPU drew of the first copies that it saw.
func (t *Tracker) Samples(lanes []TrackedLane) ([][]TrackedPoint, error) {
	all, err := readArray[TrackedPoint](t, t.objects.Samples, nil, len(lanes)*t.sample)
	if err != nil {
		return nil, err
	}
	samples := make([][]TrackedPoint, len(lanes))
	for cpu := range lanes {
		samples[cpu] = all[cpu*t.sample:][:min(lanes[cpu].Seen, uint64(t.sample))]
	}
	return samples, nil
}

// Limit makes numbers from what the sender counts of each flow on foreign, for
// the run of its end marker.
func (t *Tracker) Limit(run uint16, sent []uint64) error {
	const known = 1 << 16 // RUN_KNOWN
	limits := make([]uint64, len(sent))
	for i := range sent {
		limits[i] = ^sent[i]
	}
	_, err := t.objects.Limits.BatchUpdate(t.indices(len(sent)), limits, nil)
	if err == nil {
		err = t.objects.Limited.Set(uint32(run) | known)
	}
	if err != nil {
		return fmt.Errorf("bpf: limit tracker: %w", err)
	}
	return nil
}

// indices are those of the first n values of an array.
func (t *Tracker) indices(n int) []uint32 {
	for i := len(t.keys); i < n; i++ {
		t.keys = append(t.keys, uint32(i))
	}
	return t.keys[:n]
}

// readArray reads the first n values of an array, into the memory of to if that
// suffices.
func readArray[T any](t *Tracker, m *ebpf.Map, to []T, n int) ([]T, error) {
	if cap(to) < n {
		to = make([]T, n)
	}
	to = to[:n]
	if n == 0 {
		return to, nil
	}
	var cursor ebpf.MapBatchCursor
	_, err := m.BatchLookup(&cursor, t.indices(n), to, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // which tells the end of the array
		return nil, fmt.Errorf("bpf: read tracker: %w", err)
	}
	return to, nil
}
