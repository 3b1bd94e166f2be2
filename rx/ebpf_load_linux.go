package rx

import (
	"cmp"
	"math"
	"slices"
	"time"

	"linerate/bpf"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// events hands on what the program has to say, up to so many events, and returns
// how many end markers were among them. It waits no longer than until, nor after
// an end marker.
func (r *ebpf) events(t *track.Tracker, until time.Time, most int) (markers int, err error) {
	for range most {
		e, ok, err := r.program.Next(until)
		if err != nil {
			return markers, err
		}
		if !ok {
			break
		}
		if e.Marker == nil {
			t.LoadStep(kernelPoint(e.Low), kernelPoint(e.High))
			continue
		}
		if e.Started && !t.Started() { // or t would believe a marker of another run
			if err := r.load(t); err != nil {
				return markers, err
			}
		}
		t.Datagram(e.Marker, len(e.Marker), probe.Source{}, linux.Monotonic())
		markers++
		until = time.Now()
	}
	return markers, r.limit(t.End())
}

// limit tells the program what the sender counts: numbers from there on are
// foreign to it, as they are to the tracker.
func (r *ebpf) limit(end *probe.EndMarker) error {
	if end == nil || end == r.limits {
		return nil
	}
	r.limits = end
	sent := make([]uint64, ebpfFlows)
	for number := range sent {
		packets, ok := end.Sent(uint16(number))
		if !ok && end.Rest > 0 {
			packets = math.MaxUint64 // it isn't told
		}
		sent[number] = packets
	}
	return r.program.Limit(end.Run, sent)
}

// load brings t up to what the kernel has counted.
func (r *ebpf) load(t *track.Tracker) error {
	test, err := r.program.Test()
	if err != nil {
		return err
	}
	if r.lanes, err = r.program.Lanes(r.lanes); err != nil {
		return err
	}
	k := &r.kernel
	k.Started, k.Run = test.Run != 0, uint16(test.Run)
	k.Base, k.IPv6 = int64(test.Base), test.Ipv6 != 0
	k.Foreign, k.OtherRuns = 0, 0
	flows := 0
	for i := range r.lanes {
		k.Foreign += r.lanes[i].Foreign
		k.OtherRuns += r.lanes[i].OtherRuns
		flows = max(flows, int(r.lanes[i].Flows))
	}
	if r.flows, err = r.program.Flows(r.flows, flows); err != nil {
		return err
	}
	r.arrange()
	r.counted = k.Foreign
	for i := range k.Flows {
		r.counted += k.Flows[i].Packets
	}
	t.Load(k)
	return nil
}

// arrange puts the flows that count into the order in which they began to. When
// one was read just before it began, those after it wait.
func (r *ebpf) arrange() {
	k := &r.kernel
	k.Flows = k.Flows[:0]
	for number := range r.flows {
		if r.flows[number].Place > 0 {
			k.Flows = append(k.Flows, kernelFlow(number, &r.flows[number]))
		}
	}
	place := func(f *track.KernelFlow) uint32 { return r.flows[f.Number].Place }
	slices.SortFunc(k.Flows, func(a, b track.KernelFlow) int { return cmp.Compare(place(&a), place(&b)) })
	for i := range k.Flows {
		if place(&k.Flows[i]) != uint32(i)+1 {
			k.Flows = k.Flows[:i]
			break
		}
	}
}

func kernelFlow(number int, f *bpf.TrackedFlow) track.KernelFlow {
	return track.KernelFlow{
		Number: uint16(number),
		Counts: track.Counts{
			Packets:            f.Unique + f.Duplicates + f.BeyondWindow,
			PayloadBytes:       f.UniqueBytes + f.OtherBytes,
			Unique:             f.Unique,
			UniquePayloadBytes: f.UniqueBytes,
			Duplicates:         f.Duplicates,
			Reordered:          f.Reordered,
			BeyondWindow:       f.BeyondWindow,
		},
		Next:             f.Next,
		First:            int64(f.First),
		Last:             int64(f.Last),
		ReorderExtentMax: f.Extent,
		Jitter:           f.Jitter,
		IPDVUndefined:    f.Undefined,
	}
}

// loadRest gives t what only matters in the end.
func (r *ebpf) loadRest(t *track.Tracker) error {
	arrivals, err := r.program.Arrivals()
	if err != nil {
		return err
	}
	t.LoadCadence(arrivals)
	windows, err := r.program.Windows(len(r.flows))
	if err != nil {
		return err
	}
	shares := -1 // a flow that has no distributions of its own
	for i := range r.kernel.Flows {
		number := r.kernel.Flows[i].Number
		w := &windows[number]
		t.LoadWindow(number, &track.KernelWindow{
			Missing: w.Missing, Run: r.flows[number].Run,
			Gaps: w.Gaps, Lost: w.Lost, Longest: w.Longest, Bursts: w.Bursts,
		})
		d, err := r.program.Delays(&r.flows[number])
		if err != nil {
			return err
		}
		if d == nil {
			shares = int(number)
			continue
		}
		t.LoadDelays(number, kernelDelays(d))
	}
	for cpu := range r.lanes {
		if shares < 0 {
			break
		}
		d, err := r.program.LaterDelays(cpu)
		if err != nil {
			return err
		}
		t.LoadDelays(uint16(shares), kernelDelays(d))
	}
	return r.loadDrift(t)
}

func kernelDelays(d *bpf.TrackedDelays) *track.KernelDelays {
	return &track.KernelDelays{
		Transit: track.KernelSpread{Min: d.Transit.Min, Max: d.Transit.Max, Up: d.Up[:], Down: d.Down[:]},
		IPDV:    track.KernelSpread{Min: d.Ipdv.Min, Max: d.Ipdv.Max, Up: d.Ipdvs[:]},
	}
}

// loadDrift gives t what tells a drift of the clocks, and what it is taken out of.
func (r *ebpf) loadDrift(t *track.Tracker) error {
	drawn, err := r.program.Samples(r.lanes)
	if err != nil {
		return err
	}
	samples := make([]track.KernelSample, len(drawn))
	for cpu := range drawn {
		l := &r.lanes[cpu]
		if l.Seen > 0 {
			t.LoadStep(kernelPoint(l.Low), kernelPoint(l.High))
		}
		samples[cpu].Seen = l.Seen
		for _, p := range drawn[cpu] {
			samples[cpu].Points = append(samples[cpu].Points, kernelPoint(p))
		}
	}
	t.LoadSamples(samples)
	return nil
}

func kernelPoint(p bpf.TrackedPoint) track.KernelPoint {
	return track.KernelPoint{Sent: p.Sent, Transit: p.Transit}
}
