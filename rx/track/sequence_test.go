package track

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/probe"
	"linerate/internal/vectors"
)

func TestSequenceVectors(t *testing.T) {
	vectors.Run(t, "sequence", vectors.Checks{
		"sequence":      sequenceVector,
		"free_runs":     runsVector,
		"sequence_wrap": wrapVector,
		"bitmap_window": windowVector,
	}, "update_seq") // RTP's receiver; see TestDoubt for what the tracker has of it
}

// A late packet is one that arrived behind a greater number.
type latePacket struct {
	Seq        uint64  `json:"seq"`
	Pos        uint64  `json:"pos"`
	Extent     uint64  `json:"extent"`
	N          uint64  `json:"n"`
	LateTime   *int64  `json:"late_time"`
	ByteOffset *uint64 `json:"byte_offset"`
}

type reorderingGap struct {
	Seq uint64 `json:"seq"`
	Gap uint64 `json:"gap"`
}

type freeRuns struct {
	Lengths []uint64 `json:"lengths"`
	X       uint64   `json:"x"`
	A       uint64   `json:"a"`
	P       uint64   `json:"p"`
	Q       uint64   `json:"q"`
	OpenRun uint64   `json:"open_run"`
}

// A later is an expectation that is no figure of the tracker's.
type later = json.RawMessage

type sequenceExpect struct {
	Sent                uint64            `json:"sent"`
	Received            uint64            `json:"received"`
	Unique              uint64            `json:"unique"`
	Duplicates          uint64            `json:"duplicates"`
	DuplicatedPackets   uint64            `json:"duplicated_packets"`
	DuplicationFraction *float64          `json:"duplication_fraction"`
	ReplicatedRate      *float64          `json:"replicated_rate"`
	Lost                uint64            `json:"lost"`
	LossRatio           float64           `json:"loss_ratio"`
	LossPeriods         [][2]uint64       `json:"loss_periods"`
	LossDistance        []uint64          `json:"loss_distance"`
	InterLossPeriod     []uint64          `json:"inter_loss_period"`
	BurstHistogram      map[string]uint64 `json:"burst_histogram"`
	MaxBurst            uint64            `json:"max_burst"`
	NoticeableLosses    uint64            `json:"noticeable_losses"`
	Reordered           uint64            `json:"reordered"`
	ReorderedRatio      *float64          `json:"reordered_ratio"`
	ReorderedDetail     []latePacket      `json:"reordered_detail"`
	MaxExtent           uint64            `json:"max_extent"`
	DiscontinuitySizes  []uint64          `json:"discontinuity_sizes"`
	NReordering         []uint64          `json:"n_reordering"`
	ReorderingGaps      []reorderingGap   `json:"reordering_gaps"`
	FreeRuns            *freeRuns         `json:"free_runs"`

	// What iperf3 would count is not what the tracker counts.
	IPerf3Model later `json:"iperf3_model"`
}

// A watch follows a native flow 0 packet by packet: what the tracker makes of
// each. Numbers are counted from first.
type watch struct {
	tracker *Tracker
	flow    *flow
	first   uint64
	copies  []uint64 // first copies in order of arrival
	times   []int64  // when they came
	sizes   []uint64 // of the sequence discontinuities
	late    []latePacket
	doubled map[uint64]bool
	runs    freeRuns
	jumped  map[uint64]uint64 // position to number of what was jumped over by late packets
}

func newWatch(first uint64) *watch {
	w := &watch{tracker: New(Config{}), first: first, doubled: map[uint64]bool{}, jumped: map[uint64]uint64{}}
	w.flow = w.tracker.flow(0, probe.Source{})
	return w
}

func (w *watch) arrive(raw uint64, at int64, size int) {
	seq, _ := w.flow.unwrap(raw, w.tracker.seqBits)
	before, next, jumps := w.flow.Counts, w.flow.next, len(w.flow.jumps)
	feed(w.tracker, packet{0, raw, at, at, size})
	after := w.flow.Counts
	switch {
	case after.Duplicates > before.Duplicates:
		w.doubled[seq] = true
	case after.Reordered > before.Reordered:
		w.reordered(seq, at, size)
	case after.Unique > before.Unique:
		if len(w.flow.jumps) > jumps {
			w.sizes = append(w.sizes, seq-next)
		}
		w.runs.OpenRun++
		w.runs.A++
	}
	if after.Unique > before.Unique {
		w.copies, w.times = append(w.copies, seq), append(w.times, at)
	}
}

func (w *watch) reordered(seq uint64, at int64, size int) {
	position := uint64(len(w.copies)) + 1
	over := w.flow.jumps.over(seq) - (w.flow.Unique - position)
	p := latePacket{Seq: seq + w.first, Pos: position, Extent: position - over}
	for _, before := range slices.Backward(w.copies) {
		if before < seq {
			break
		}
		p.N++
	}
	lateTime := at - w.times[over-1]
	var offset uint64
	for greater := seq + 1; greater < w.flow.next; greater++ {
		if w.flow.has(greater) {
			offset += uint64(size)
		}
	}
	p.LateTime, p.ByteOffset = &lateTime, &offset
	w.late = append(w.late, p)
	w.jumped[over] = w.copies[over-1] + w.first
	w.runs.Lengths = append(w.runs.Lengths, w.runs.OpenRun)
	w.runs.X++
	w.runs.Q += w.runs.OpenRun * w.runs.OpenRun
	w.runs.OpenRun = 0
}

// gaps are those between reordering discontinuities (RFC 4737, section 4.5).
func (w *watch) gaps() (gaps []reorderingGap) {
	positions := slices.Sorted(maps.Keys(w.jumped))
	for i := 1; i < len(positions); i++ {
		gaps = append(gaps, reorderingGap{w.jumped[positions[i]], positions[i] - positions[i-1]})
	}
	return gaps
}

// periods are the loss periods among the numbers from first on, as first lost
// number and length.
func (w *watch) periods(first, sent uint64) (periods [][2]uint64) {
	for seq := first; seq < sent; seq++ {
		switch n := len(periods); {
		case seq < w.flow.next && w.flow.has(seq):
		case n > 0 && periods[n-1][0]+periods[n-1][1] == seq+w.first:
			periods[n-1][1]++
		default:
			periods = append(periods, [2]uint64{seq + w.first, 1})
		}
	}
	return periods
}

func ratio(a, b uint64) *float64 {
	if b == 0 {
		return nil
	}
	r := float64(a) / float64(b)
	return &r
}

var approximately = cmpopts.EquateApprox(1e-9, 1e-6)

func sequenceVector(t *testing.T, v vectors.Vector) {
	var in struct {
		FirstSeq uint64   `json:"first_seq"`
		Sent     uint64   `json:"sent"`
		Arrivals []uint64 `json:"arrivals"`
		Times    []int64  `json:"times"`
		Payload  int      `json:"payload"`
		Delta    uint64   `json:"delta"`
	}
	var want sequenceExpect
	v.Decode(t, &in, &want)

	w := newWatch(in.FirstSeq)
	for i, seq := range in.Arrivals {
		var at int64
		if in.Times != nil {
			at = in.Times[i]
		}
		w.arrive(seq-in.FirstSeq, at, max(in.Payload, probe.NativeSize))
	}
	for i := range w.late {
		if in.Times == nil {
			w.late[i].LateTime = nil
		}
		if in.Payload == 0 {
			w.late[i].ByteOffset = nil
		}
	}
	got := sequenceExpect{
		Sent: in.Sent, LossPeriods: w.periods(0, in.Sent), DuplicatedPackets: uint64(len(w.doubled)),
		ReorderedDetail: w.late, DiscontinuitySizes: w.sizes, ReorderingGaps: w.gaps(),
		FreeRuns: &w.runs, IPerf3Model: want.IPerf3Model, BurstHistogram: map[string]uint64{},
	}
	for n := uint64(1); ; n++ { // packets that are n-reordered
		var m uint64
		for _, p := range w.late {
			if p.N >= n {
				m++
			}
		}
		if m == 0 {
			break
		}
		got.NReordering = append(got.NReordering, m)
	}
	var last uint64
	for i, period := range got.LossPeriods {
		for k := range period[1] {
			distance := period[0] + k - last
			if last == 0 && len(got.LossDistance) == 0 {
				distance = 0
			}
			if len(got.LossDistance) > 0 && distance <= in.Delta {
				got.NoticeableLosses++
			}
			got.LossDistance = append(got.LossDistance, distance)
			last = period[0] + k
		}
		var since uint64
		if i > 0 {
			before := got.LossPeriods[i-1]
			since = period[0] - (before[0] + before[1] - 1)
		}
		got.InterLossPeriod = append(got.InterLossPeriod, since)
	}

	end(w.tracker, in.Sent)
	r, err := w.tracker.Finish(Settlement{})
	if err != nil {
		t.Fatal(err)
	}
	got.Received, got.Unique, got.Duplicates, got.Lost = r.Packets, r.Unique, r.Duplicates, r.Lost
	got.Reordered, got.MaxExtent, got.MaxBurst = r.Reordered, r.ReorderExtentMax, r.Bursts.Max
	got.DuplicationFraction = ratio(r.Duplicates, r.Unique)
	got.ReplicatedRate = ratio(got.DuplicatedPackets, r.Unique)
	got.ReorderedRatio = ratio(r.Reordered, r.Unique)
	got.LossRatio = *ratio(r.Lost, *r.Sent)
	w.runs.P = r.Unique
	for kind, n := range r.Bursts.count {
		if n > 0 {
			got.BurstHistogram[strconv.FormatUint(longest(kind), 10)] = n
		}
	}
	if diff := cmp.Diff(want, got, approximately, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// runsVector sends each run in order, but for one packet before it that comes behind it.
func runsVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Lengths []uint64 `json:"run_lengths"`
	}
	type figures struct {
		X     uint64  `json:"x"`
		A     uint64  `json:"a"`
		P     uint64  `json:"p"`
		Q     uint64  `json:"q"`
		Mean  float64 `json:"mean_run"`
		QA    float64 `json:"q_over_a"`
		Ratio float64 `json:"ratio"`
	}
	var want figures
	v.Decode(t, &in, &want)
	w := newWatch(0)
	var next uint64
	for _, length := range in.Lengths {
		late := next
		for range length {
			next++
			w.arrive(next, 0, probe.NativeSize)
		}
		w.arrive(late, 0, probe.NativeSize)
		next++
	}
	runs := w.runs
	got := figures{X: runs.X, A: runs.A, P: w.flow.Unique, Q: runs.Q}
	got.Mean, got.QA = *ratio(got.A, got.X), *ratio(got.Q, got.A)
	got.Ratio = got.QA / got.Mean
	if diff := cmp.Diff(want, got, approximately); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func wrapVector(t *testing.T, v vectors.Vector) {
	var in struct {
		Bits     uint     `json:"bits"`
		First    uint64   `json:"first_seq_extended"`
		Sent     uint64   `json:"sent"`
		Arrivals []uint64 `json:"raw_arrivals"`
	}
	type result struct {
		Extended    []uint64     `json:"extended"`
		Sent        uint64       `json:"sent"`
		Received    uint64       `json:"received"`
		Unique      uint64       `json:"unique"`
		Duplicates  uint64       `json:"duplicates"`
		Lost        uint64       `json:"lost"`
		LossPeriods [][2]uint64  `json:"loss_periods"`
		Reordered   uint64       `json:"reordered"`
		Detail      []latePacket `json:"reordered_detail"`
	}
	var want result
	v.Decode(t, &in, &want)

	w := newWatch(0)
	w.tracker.seqBits = in.Bits
	resume(w.tracker, 0, in.First)
	got := result{Sent: in.Sent}
	for _, raw := range in.Arrivals {
		seq, ok := w.flow.unwrap(raw, in.Bits)
		if !ok {
			t.Errorf("%d is before the first", raw)
		}
		got.Extended = append(got.Extended, seq)
		w.arrive(raw, 0, probe.NativeSize)
	}
	for i := range w.late {
		w.late[i].LateTime, w.late[i].ByteOffset = nil, nil
	}
	got.LossPeriods, got.Detail = w.periods(in.First, in.First+in.Sent), w.late
	end(w.tracker, in.First+in.Sent)
	r, err := w.tracker.Finish(Settlement{})
	if err != nil {
		t.Fatal(err)
	}
	got.Received, got.Unique = r.Packets-in.First, r.Unique-in.First
	got.Duplicates, got.Lost, got.Reordered = r.Duplicates, r.Lost, r.Reordered
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// windowVector stretches a vector to the tracker's window: each of its packets
// becomes as many in a row as make one window of the other.
func windowVector(t *testing.T, v vectors.Vector) {
	var in struct {
		FirstSeq uint64   `json:"first_seq"`
		Sent     uint64   `json:"sent"`
		Window   uint64   `json:"window"`
		Arrivals []uint64 `json:"arrivals"`
	}
	type counts struct {
		Unique     uint64 `json:"unique"`
		Duplicates uint64 `json:"duplicates"`
		Reordered  uint64 `json:"reordered"`
		Beyond     uint64 `json:"beyond_window"`
		Lost       uint64 `json:"lost_declared"`
		LostMin    uint64 `json:"lost_min"`
		LostMax    uint64 `json:"lost_max"`
		Exact      bool   `json:"exact"`
	}
	var want struct {
		Bitmap counts `json:"bitmap"`
		Truth  later  `json:"truth"` // what a longer memory would have told
	}
	v.Decode(t, &in, &want)

	stretch := Window / in.Window
	tracker := New(Config{})
	for _, seq := range in.Arrivals {
		for i := range stretch {
			feed(tracker, packet{seq: (seq-in.FirstSeq)*stretch + i, size: probe.NativeSize})
		}
	}
	end(tracker, in.Sent*stretch)
	r, err := tracker.Finish(Settlement{})
	if err != nil {
		t.Fatal(err)
	}
	b := want.Bitmap
	for _, n := range []*uint64{&b.Unique, &b.Duplicates, &b.Reordered, &b.Beyond, &b.Lost, &b.LostMin, &b.LostMax} {
		*n *= stretch
	}
	got := counts{
		Unique: r.Unique, Duplicates: r.Duplicates, Reordered: r.Reordered, Beyond: r.BeyondWindow,
		Lost: r.Lost, LostMin: r.Lost - min(r.Lost, r.BeyondWindow), LostMax: r.Lost, Exact: r.BeyondWindow == 0,
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
