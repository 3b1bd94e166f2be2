package track

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
)

// snapshots are what the parts have by now.
func snapshots(parts []*Tracker) []*Tracker {
	taken := make([]*Tracker, len(parts))
	for i, p := range parts {
		taken[i] = p.Snapshot()
	}
	return taken
}

// Several trackers come to the result of one, and show the same on the way there.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets, firsts := arrivals(t)
		n := rapid.IntRange(1, 4).Draw(t, "parts")
		whole, merged := New(Config{}), New(Config{})
		parts := merged.Split(n)
		half := len(packets) / 2
		feedAll := func(packets []packet) {
			feed(whole, packets...)
			for _, p := range packets {
				feed(parts[int(p.flow)%n], p)
			}
			if err := merged.Merge(snapshots(parts)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.Totals(), merged.Totals()); diff != "" {
				t.Fatalf("totals (-want +got):\n%s", diff)
			}
		}
		feedAll(packets[:half])
		feedAll(packets[half:])
		if rapid.Bool().Draw(t, "marker") {
			var sent []uint64
			for flow := range firsts {
				f := whole.flow(uint16(flow), probe.Source{})
				sent = append(sent, f.next+rapid.SampledFrom([]uint64{0, 1, 3 * Window}).Draw(t, "tail"))
			}
			end(whole, sent...)
			end(parts[rapid.IntRange(0, n-1).Draw(t, "to")], sent...)
			if err := merged.Merge(snapshots(parts)); err != nil {
				t.Fatal(err)
			}
		}
		if whole.Complete() != merged.Complete() || whole.Ended() != merged.Ended() || whole.Started() != merged.Started() ||
			whole.LastArrival() != merged.LastArrival() || whole.IPv6() != merged.IPv6() {
			t.Errorf("complete %v, %v; ended %v, %v", whole.Complete(), merged.Complete(), whole.Ended(), merged.Ended())
		}
		busy := 0
		for _, p := range parts {
			if p.Started() {
				busy++
			}
		}
		if err := merged.Merge(parts); err != nil {
			t.Fatal(err)
		}
		want, errWant := whole.Finish(Settlement{Clock: Same})
		got, errGot := merged.Finish(Settlement{Clock: Same})
		if errWant != nil || errGot != nil {
			t.Fatal(errWant, errGot)
		}
		if busy > 1 {
			want.Cadence = nil
		}
		if diff := cmp.Diff(want, got, numbers); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// More flows than have distributions of their own, told apart by number or source.
func TestMergeManyFlows(t *testing.T) {
	const n, flows = 3, 2*ownDelays + 5
	for _, format := range []probe.Format{probe.Native, probe.IPerf2} {
		whole, merged := New(Config{Format: format}), New(Config{Format: format})
		parts := merged.Split(n)
		stamper := probe.Stamper{Format: format, Run: 9}
		payload := make([]byte, format.Size())
		format.Init(payload)
		for seq := range uint64(3) {
			for flow := range uint16(flows) {
				from := probe.Source{Port: flow}
				if format == probe.Native {
					from = probe.Source{}
				}
				sent, at := int64(seq)*1e6+int64(flow), int64(seq)*1e6+int64(flow)*1000+int64(rand.N(50_000))
				if seq == 0 {
					at = int64(flow) * 1000 // the order of appearance
				}
				stamper.Put(payload, flow, seq, sent)
				whole.Datagram(payload, 100, from, at)
				parts[flow%n].Datagram(payload, 100, from, at)
			}
		}
		if err := merged.Merge(parts); err != nil {
			t.Fatal(err)
		}
		want := finish(t, whole)
		want.Cadence = nil
		if diff := cmp.Diff(want, finish(t, merged), numbers); diff != "" {
			t.Errorf("%v (-want +got):\n%s", format, diff)
		}
	}
}

// The first run that counts is that of all parts, and a marker of another one none's.
func TestMergeRuns(t *testing.T) {
	merged := New(Config{})
	parts := merged.Split(2)
	end(parts[1], 7) // of run 9
	other := probe.AppendEnd(nil, &probe.EndMarker{Run: 8, Counts: []probe.FlowCount{{Flows: 1, Packets: 2}}})
	for seq := range uint64(2) {
		parts[0].Datagram(native(8, 0, seq), 100, probe.Source{}, int64(seq))
	}
	feed(parts[1], packet{flow: 1, seq: 0}, packet{flow: 1, seq: 1})
	parts[0].Datagram(other, len(other), probe.Source{}, 3)
	if err := merged.Merge(snapshots(parts)); err != nil {
		t.Fatal(err)
	}
	if got := merged.Totals(); got.Packets != 2 || got.Foreign != 2 || merged.OtherRuns() != 2 || !merged.Complete() {
		t.Errorf("%+v, %d of other runs, complete %v", got, merged.OtherRuns(), merged.Complete())
	}
}

// A flow that came to two parts is said to have.
func TestMergeTornFlow(t *testing.T) {
	merged := New(Config{})
	parts := merged.Split(2)
	feed(parts[0], inOrder(0, 5)...)
	feed(parts[1], inOrder(5, 7)...)
	err := merged.Merge(parts)
	if err == nil || !strings.Contains(err.Error(), "flow 0 came to several threads") {
		t.Errorf("error %v", err)
	}
	if got := merged.Totals(); got.Packets != 5 || got.Foreign != 2 {
		t.Errorf("%+v", got)
	}
}

// The drift between two clocks is found from all parts.
func TestMergeDrift(t *testing.T) {
	const drift, flows = 50e-6, 4
	random := rand.New(rand.NewPCG(1, 2))
	whole, merged := New(Config{}), New(Config{})
	parts := merged.Split(flows)
	for k := range int64(70_000) {
		sent := k * 1e6
		at := sent + 5000 + int64(drift*float64(sent)) + int64(random.ExpFloat64()*20_000)
		p := packet{flow: uint16(k % flows), seq: uint64(k / flows), sent: sent, at: at, size: 100}
		feed(whole, p)
		feed(parts[k%flows], p)
	}
	if err := merged.Merge(parts); err != nil {
		t.Fatal(err)
	}
	want, got := finish(t, whole), finish(t, merged)
	if want.Delay.Drift == nil || got.Delay.Drift == nil || math.Abs(*got.Delay.Drift-drift) > 1e-7 {
		t.Fatalf("drift %v, want about %v", got.Delay.Drift, want.Delay.Drift)
	}
	if d := got.Delay; d.N != min(want.Delay.N, sampleMost) || !slices.IsSorted([]int64{d.P50, d.P99, d.P999, d.Max}) ||
		math.Abs(float64(d.P50-want.Delay.P50)) > 2000 || math.Abs(float64(d.Max-want.Delay.Max)) > 2000 {
		t.Errorf("delay %+v, want about %+v", *d, *want.Delay)
	}
}
