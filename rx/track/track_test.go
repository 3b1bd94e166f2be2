package track

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/probe"
)

// inOrder makes packets first up to limit of flow 0, one every µs.
func inOrder(first, limit uint64) (packets []packet) {
	for seq := first; seq < limit; seq++ {
		packets = append(packets, packet{seq: seq, sent: int64(seq) * 1000, at: int64(seq)*1000 + 500, size: 100})
	}
	return packets
}

func finish(t *testing.T, tracker *Tracker) Result {
	t.Helper()
	r, err := tracker.Finish(Settlement{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// native makes the payload of a native packet.
func native(run, flow uint16, seq uint64) []byte {
	b := make([]byte, probe.NativeSize)
	s := probe.Stamper{Run: run}
	s.Put(b, flow, seq, 0)
	return b
}

func TestForeignDatagrams(t *testing.T) {
	wrong := native(9, 0, 1)
	wrong[0]++
	marker := probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: []probe.FlowCount{{Flows: 1, Packets: 3}}})
	other := probe.AppendEnd(nil, &probe.EndMarker{Run: 8, Counts: []probe.FlowCount{{Flows: 1, Packets: 3}}})
	for _, c := range []struct {
		name    string
		payload []byte
	}{
		{"empty", nil},
		{"short", native(9, 0, 1)[:17]},
		{"another magic number", wrong},
		{"another run", native(8, 0, 1)},
		{"before the first", native(9, 0, 1<<48-3)},
		{"cut marker", marker[:len(marker)-1]},
		{"another run's marker", other},
	} {
		tracker := New(Config{})
		feed(tracker, inOrder(0, 2)...)
		tracker.Datagram(c.payload, len(c.payload), probe.Source{}, 5000)
		got := tracker.Totals()
		if got.Foreign != 1 || got.Packets != 2 || tracker.Ended() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestRunIsTheFirstBelieved(t *testing.T) {
	tracker := New(Config{})
	garbage := native(1, 0, 1<<40)
	straggler := probe.AppendEnd(nil, &probe.EndMarker{Run: 2, Counts: []probe.FlowCount{{Flows: 1, Packets: 5}}})
	tracker.Datagram(garbage, 18, probe.Source{}, 0)
	tracker.Datagram(native(3, 0, 1<<40+1), 18, probe.Source{}, 0) // doesn't bear it out
	tracker.Datagram(straggler, len(straggler), probe.Source{}, 0)
	if tracker.Started() || !tracker.Ended() {
		t.Errorf("started %v, ended %v", tracker.Started(), tracker.Ended())
	}
	feed(tracker, inOrder(0, 10)...)
	if tracker.Ended() {
		t.Error("another run's marker ended this one")
	}
	end(tracker, 10)
	end(tracker, 12) // of two markers the first holds
	if tracker.End().Total() != 10 || !tracker.Complete() || tracker.LastArrival() != 9500 {
		t.Errorf("complete %v, last arrival %d", tracker.Complete(), tracker.LastArrival())
	}
	r := finish(t, tracker)
	if r.Foreign != 2 || r.Unique != 10 || r.Lost != 0 {
		t.Errorf("%+v", r.Counts)
	}
}

func TestImplausibleNumbers(t *testing.T) {
	const far = 1 << 40
	for _, c := range []struct {
		name                              string
		before                            uint64 // packets in order, first
		seqs                              []uint64
		silence                           int64 // ns before seqs
		unique, duplicates, foreign, next uint64
	}{
		{"forged", 100, []uint64{far, 100, 101}, 0, 102, 0, 1, 102},
		{"forged at half the space", 100, []uint64{1<<47 + 100, 100}, 0, 101, 0, 1, 101},
		{"forged at the start", 0, []uint64{far, 0, 1}, 0, 2, 0, 1, 2},
		{"forged far apart", 100, []uint64{far, 2 * far, 3 * far}, 0, 100, 0, 3, 100},
		{"forged twice, not in a row", 100, []uint64{far, 100, far + 1}, 0, 101, 0, 2, 101},
		{"forged below the first number", 100, []uint64{1<<48 - 3, 1<<48 - 2, 100}, 0, 101, 0, 2, 101},
		{"forged and doubled", 100, []uint64{far, far, far, 100}, 0, 101, 0, 3, 101},
		{"late start", 0, []uint64{far, far + 1, far + 2}, 0, 3, 0, 0, far + 3},
		{"late start with losses", 0, []uint64{far, far + 2, far + 40}, 0, 3, 0, 0, far + 41},
		{"late start, swapped", 0, []uint64{far + 1, far, far + 2}, 0, 3, 0, 0, far + 3},
		{"late start, all doubled", 0, []uint64{far, far, far + 1, far + 1}, 0, 2, 2, 0, far + 2},
		{"as far as the slack", 0, []uint64{slack}, 0, 1, 0, 0, slack + 1},
		{"beyond the slack", 0, []uint64{slack + 1}, 0, 0, 0, 1, 0},
		{"after a second of silence", 100, []uint64{150_000_000}, 1e9, 101, 0, 0, 150_000_001},
		{"too far for a second", 100, []uint64{151_000_000}, 1e9, 100, 0, 1, 100},
	} {
		tracker := New(Config{})
		feed(tracker, inOrder(0, c.before)...)
		at := int64(c.before)*1000 + c.silence
		if c.before == 0 {
			at = 1e15 // the host has been up for days
		}
		for _, seq := range c.seqs {
			feed(tracker, packet{seq: seq, sent: at, at: at, size: 100})
		}
		r := finish(t, tracker)
		got := []uint64{r.Unique, r.Duplicates, r.Foreign, r.Lost}
		if diff := cmp.Diff([]uint64{c.unique, c.duplicates, c.foreign, c.next - c.unique}, got); diff != "" {
			t.Errorf("%s: unique, duplicates, foreign, lost (-want +got):\n%s", c.name, diff)
		}
	}
}

// accounts is what the sender's count decides.
type accounts struct{ Sent, Unique, Lost, Gaps, Foreign uint64 }

func TestSenderCountSettlesLoss(t *testing.T) {
	const none = unknown
	for _, c := range []struct {
		name     string
		first, n uint64 // packets that arrive
		early    bool   // the marker comes before them
		sent     uint64
		want     accounts
	}{
		{"all there", 0, 10, false, 10, accounts{10, 10, 0, 0, 0}},
		{"head lost", 3, 10, false, 10, accounts{10, 7, 3, 1, 0}},
		{"tail lost", 0, 7, false, 10, accounts{10, 7, 3, 1, 0}},
		{"head and tail lost", 3, 7, false, 10, accounts{10, 4, 6, 2, 0}},
		{"all lost", 0, 0, false, 10, accounts{10, 0, 10, 1, 0}},
		{"nothing sent", 0, 0, false, 0, accounts{0, 0, 0, 0, 0}},
		{"no marker", 3, 7, false, none, accounts{none, 4, 3, 1, 0}},
		{"numbers beyond the count", 0, 15, false, 10, accounts{10, 10, 0, 0, 5}},
		{"numbers beyond an early count", 0, 15, true, 10, accounts{10, 10, 0, 0, 5}},
		{"a hole up to the count", 12, 15, false, 10, accounts{10, 0, 10, 1, 3}},
		{"a window of numbers beyond the count", 0, Window + 10, false, 10, accounts{10, 10, 0, 0, Window}},
	} {
		tracker := New(Config{})
		if c.early {
			end(tracker, c.sent)
		}
		feed(tracker, inOrder(c.first, c.n)...)
		if c.sent != none && !c.early {
			end(tracker, c.sent)
		}
		if complete := tracker.Complete(); complete != (c.sent != none && c.want.Lost == 0 && (c.early || c.want.Foreign == 0)) {
			t.Errorf("%s: complete %v", c.name, complete)
		}
		r := finish(t, tracker)
		got := accounts{none, r.Unique, r.Lost, r.Bursts.Gaps, r.Foreign}
		if r.Sent != nil {
			got.Sent = *r.Sent
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFlowsThatNeverArrived(t *testing.T) {
	tracker := New(Config{})
	feed(tracker, packet{flow: 2, seq: 0, size: 100}, packet{flow: 5, seq: 0, size: 100})
	end(tracker, 4, 0, 1) // flow 5 isn't the sender's
	r := finish(t, tracker)
	type row struct {
		flow               uint16
		sent, unique, lost uint64
	}
	var got []row
	for _, f := range r.Flows {
		got = append(got, row{f.Number, *f.Sent, f.Unique, f.Lost})
	}
	want := []row{{0, 4, 0, 4}, {2, 1, 1, 0}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" || *r.Sent != 5 || r.Lost != 4 || r.Foreign != 1 {
		t.Errorf("sent %d, lost %d, foreign %d, flows (-want +got):\n%s", *r.Sent, r.Lost, r.Foreign, diff)
	}
}

// A marker has room for some flows only; the total stays exact.
func TestMarkerWithRest(t *testing.T) {
	tracker := New(Config{})
	feed(tracker, packet{flow: 0, seq: 0, size: 100}, packet{flow: 1, seq: 1, size: 100})
	b := probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: []probe.FlowCount{{Flows: 1, Packets: 1}}, Rest: 7})
	tracker.Datagram(b, len(b), probe.Source{}, 0)
	if tracker.Complete() {
		t.Error("complete with 6 of 8 missing")
	}
	r := finish(t, tracker)
	if *r.Sent != 8 || r.Unique != 2 || r.Lost != 6 {
		t.Errorf("sent %d, %+v", *r.Sent, r.Counts)
	}
	if f := r.Flows[1]; f.Sent != nil || f.Lost != 1 {
		t.Errorf("flow without a count: %+v", f.Counts)
	}
}

// TestSelectedFlows holds that of a selection of flows only those count that came.
func TestSelectedFlows(t *testing.T) {
	for _, rest := range []uint64{0, 7} {
		end := probe.EndMarker{Run: 9, Counts: []probe.FlowCount{{Flows: 3, Packets: 2}}, Rest: rest}
		tracker := New(Config{Selected: true})
		for seq := range uint64(2) {
			if tracker.Complete() {
				t.Error("complete before the end")
			}
			b := native(9, 1, seq)
			tracker.Datagram(b, len(b), probe.Source{}, int64(seq))
		}
		b := probe.AppendEnd(nil, &end)
		tracker.Datagram(b, len(b), probe.Source{}, 3)
		if !tracker.Complete() {
			t.Error("not complete though all of a flow came")
		}
		r := finish(t, tracker)
		if r.Sent == nil || *r.Sent != 2 || r.Lost != 0 || len(r.Flows) != 1 {
			t.Errorf("rest %d: %d flows, lost %d, sent %v", rest, len(r.Flows), r.Lost, r.Sent)
		}
	}
}

func TestContradictoryCount(t *testing.T) {
	tracker := New(Config{})
	feed(tracker, inOrder(0, 2*Window)...)
	end(tracker, 10)
	r, err := tracker.Finish(Settlement{})
	if err == nil || !strings.Contains(err.Error(), "the sender counts 10 packets, but number 16383 arrived") {
		t.Errorf("error %v", err)
	}
	if r.Sent != nil || r.Unique != 2*Window || r.Lost != 0 {
		t.Errorf("sent %v, %+v", r.Sent, r.Counts)
	}
}

func TestCheckFindsWhatDoesNotAddUp(t *testing.T) {
	for _, spoil := range []func(*flow){
		func(f *flow) { f.Duplicates++ },
		func(f *flow) { f.bursts.add(1) },
	} {
		tracker := New(Config{})
		feed(tracker, inOrder(0, 10)...)
		spoil(tracker.flows[0])
		if _, err := tracker.Finish(Settlement{}); err == nil || !strings.Contains(err.Error(), "flow 0 doesn't add up") {
			t.Errorf("error %v", err)
		}
	}
}

func TestCountFromElsewhere(t *testing.T) {
	tracker := New(Config{})
	feed(tracker, inOrder(0, 4)...)
	tracker.Sent(0, probe.Source{}, 6)
	tracker.Sent(3, probe.Source{}, 2)
	if !tracker.Ended() || tracker.Complete() || tracker.End() != nil {
		t.Errorf("ended %v, complete %v", tracker.Ended(), tracker.Complete())
	}
	r := finish(t, tracker)
	if *r.Sent != 8 || r.Lost != 4 || len(r.Flows) != 2 {
		t.Errorf("sent %d of %d flows, %+v", *r.Sent, len(r.Flows), r.Counts)
	}
}

// source is the address that tells an iperf flow apart.
func source(i int) probe.Source {
	s := probe.Source{Port: uint16(i)}
	s.Addr[15] = byte(i >> 16)
	return s
}

func TestIPerfFlowsAreSources(t *testing.T) {
	tracker := New(Config{Format: probe.IPerf3})
	s := probe.Stamper{Format: probe.IPerf3}
	b := make([]byte, 12)
	const wrapped = 1<<32 - 1
	resumed := tracker.flow(0, source(2))
	resumed.next, resumed.Unique, resumed.Packets = wrapped-1, wrapped-1, wrapped-1
	for _, p := range []struct {
		source int
		seq    uint64
	}{{1, 0}, {2, wrapped - 1}, {2, wrapped + 1}, {1, 1}, {2, wrapped}, {2, wrapped + 2}} {
		s.Put(b, 0, p.seq, 1000)
		tracker.Datagram(b, 100, source(p.source), 2000)
	}
	if tracker.Ended() {
		t.Error("iperf3 has no end marker")
	}
	r := finish(t, tracker)
	if len(r.Flows) != 2 || r.Flows[0].From != source(1) || r.Flows[1].From != source(2) {
		t.Fatalf("flows %+v", r.Flows)
	}
	for i, want := range []Counts{
		{Packets: 2, PayloadBytes: 200, Unique: 2, UniquePayloadBytes: 200},
		{Packets: wrapped + 3, PayloadBytes: 400, Unique: wrapped + 3, UniquePayloadBytes: 400, Reordered: 1},
	} {
		if diff := cmp.Diff(want, r.Flows[i].Counts); diff != "" {
			t.Errorf("flow %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestTooManySources(t *testing.T) {
	tracker := New(Config{Format: probe.IPerf3})
	s := probe.Stamper{Format: probe.IPerf3}
	b := make([]byte, 12)
	s.Put(b, 0, 0, 1000)
	for i := range sourcesMost + 3 {
		tracker.Datagram(b, 100, source(i), 2000)
	}
	r := finish(t, tracker)
	if r.Unique != sourcesMost || r.Foreign != 3 || len(r.Flows) != sourcesMost {
		t.Errorf("%d unique, %d foreign, %d flows", r.Unique, r.Foreign, len(r.Flows))
	}
}

func TestIPerf2FIN(t *testing.T) {
	tracker := New(Config{Format: probe.IPerf2})
	s := probe.Stamper{Format: probe.IPerf2}
	data := func(from int, seq uint64) {
		b := make([]byte, 18)
		s.Format.Init(b)
		s.Put(b, 0, seq, 1000)
		tracker.Datagram(b, 100, source(from), 2000)
	}
	fin := func(from int, sent uint64, try int) {
		b := s.AppendFIN(nil, 100, sent, try, 1000)
		tracker.Datagram(b, len(b), source(from), 2000)
	}
	fin(1, 5, 0) // nothing came of it yet: stray
	data(1, 0)
	data(2, 0)
	data(2, 1)
	fin(1, 3, 1)
	fin(1, 3, 0)
	if tracker.Ended() {
		t.Error("ended with one flow of two")
	}
	fin(2, 1, 0) // forged: two packets came
	fin(2, 2, 0)
	if !tracker.Ended() || tracker.Complete() {
		t.Errorf("ended %v, complete %v", tracker.Ended(), tracker.Complete())
	}
	data(1, 1)
	data(1, 2)
	data(1, 3) // beyond the count
	if !tracker.Complete() {
		t.Error("not complete")
	}
	r := finish(t, tracker)
	if *r.Sent != 5 || r.Unique != 5 || r.Foreign != 3 {
		t.Errorf("sent %d, %d foreign, %+v", *r.Sent, r.Foreign, r.Counts)
	}
}

func TestVerify(t *testing.T) {
	pattern, err := probe.ParsePattern("ramp")
	if err != nil {
		t.Fatal(err)
	}
	tracker := New(Config{Pattern: &pattern})
	for seq := range uint64(10) {
		b := append(native(9, 0, seq), make([]byte, 82)...)
		pattern.Fill(b[18:], 18)
		if seq%5 == 2 {
			b[60] ^= 4
		}
		tracker.Datagram(b, len(b), probe.Source{}, 0)
	}
	tracker.Datagram(native(9, 0, 10), 18, probe.Source{}, 0) // nothing to verify
	end(tracker, 11)
	r := finish(t, tracker)
	want := Counts{Packets: 11, PayloadBytes: 1018, Unique: 11, UniquePayloadBytes: 1018, Corrupt: 2}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestIPv6IsThatOfTheTest(t *testing.T) {
	v4 := probe.Source{Addr: [16]byte{10: 0xff, 0xff, 10, 77, 0, 1}}
	v6 := probe.Source{Addr: [16]byte{0xfd, 0x77, 15: 1}}
	for _, c := range []struct {
		name string
		from probe.Source
		seqs []uint64
		want bool
	}{
		{"IPv4", v4, []uint64{0}, false},
		{"IPv6", v6, []uint64{0}, true},
		{"IPv4, late start", v4, []uint64{1 << 40, 1<<40 + 1}, false},
		{"IPv6, late start", v6, []uint64{1 << 40, 1<<40 + 1}, true},
		{"nothing yet", v6, nil, false},
	} {
		tracker := New(Config{})
		tracker.Datagram([]byte("foreign"), 7, v6, 0)
		for _, seq := range c.seqs {
			tracker.Datagram(native(9, 0, seq), 18, c.from, 0)
		}
		if got := tracker.IPv6(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestTotalsOnTheWay(t *testing.T) {
	tracker := New(Config{})
	if got := tracker.Totals(); got != (Totals{}) {
		t.Errorf("before: %+v", got)
	}
	feed(tracker, inOrder(0, 5)...)
	feed(tracker, inOrder(8, 10)...)
	got := tracker.Totals()
	want := Totals{Counts: Counts{Packets: 7, PayloadBytes: 700, Unique: 7, UniquePayloadBytes: 700, Lost: 3}, First: 500, Last: 9500}
	var jitter int64
	want.JitterNS = &jitter
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	feed(tracker, inOrder(5, 8)...)
	if got := tracker.Totals(); got.Lost != 0 || got.Reordered != 3 {
		t.Errorf("after: %+v", got)
	}
}

// BC-061: many flows, each with numbers of its own, the first with delays of their own.
func TestManyFlows(t *testing.T) {
	tracker := New(Config{})
	const flows = ownDelays + 10
	for i := range 3 * flows {
		at := int64(i) * 1000
		feed(tracker, packet{flow: uint16(flows - 1 - i%flows), seq: uint64(i / flows), sent: at, at: at + 100 + int64(i%flows), size: 18})
	}
	r := finish(t, tracker)
	if r.Unique != 3*flows || r.Delay.N != 3*flows || r.IPDV.N != 2*flows || r.Delay.Max != flows-1 {
		t.Errorf("%d unique, delay %+v, ipdv %+v", r.Unique, r.Delay, r.IPDV)
	}
	for i, f := range r.Flows {
		// The first to arrive have the greatest numbers.
		if own := i >= flows-ownDelays; f.Number != uint16(i) || (f.Delay != nil) != own || (f.IPDV != nil) != own || f.JitterNS == nil {
			t.Errorf("flow %d: %+v", i, f)
		}
	}
}

func TestCapture(t *testing.T) {
	pattern := new(probe.Pattern)
	for _, c := range []struct {
		config Config
		want   int
	}{
		{Config{}, probe.MaxEndSize},
		{Config{Format: probe.IPerf3}, 12},
		{Config{Format: probe.IPerf3, Pattern: pattern}, 65535},
	} {
		if got := c.config.Capture(); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.config, got, c.want)
		}
	}
}

func TestBursts(t *testing.T) {
	var b Bursts
	if b.P50() != 0 {
		t.Errorf("median of nothing: %d", b.P50())
	}
	for length := uint64(1); length <= 1<<17; length++ {
		if k := kind(length); length > longest(k) || k > 0 && length <= longest(k-1) {
			t.Fatalf("%d is of kind %d, up to %d", length, k, longest(k))
		}
	}
	if k := kind(1<<64 - 1); k != burstKinds-1 || longest(k) != 1<<64-1 {
		t.Errorf("the longest is of kind %d, up to %d", k, longest(k))
	}
	for _, c := range []struct {
		lengths []uint64
		want    uint64
	}{
		{[]uint64{5}, 5},
		{[]uint64{1, 2, 3, 4}, 2},
		{[]uint64{63, 64, 1000}, 127},
		{[]uint64{70}, 70}, // no more than the greatest
	} {
		b = Bursts{}
		for _, length := range c.lengths {
			b.add(length)
		}
		if got := b.P50(); got != c.want {
			t.Errorf("%v: median %d, want %d", c.lengths, got, c.want)
		}
	}
}

// However a stream looks, the state of a flow stays small.
func TestJumpsStayFew(t *testing.T) {
	tracker := New(Config{})
	for seq := uint64(0); seq < 20*Window; seq += 2 {
		feed(tracker, packet{seq: seq, size: 18})
	}
	feed(tracker, packet{seq: 20*Window - Window + 1, size: 18})
	if n := cap(tracker.flows[0].jumps); n > 2*Window {
		t.Errorf("room for %d discontinuities", n)
	}
	if r := finish(t, tracker); r.ReorderExtentMax != Window/2-1 {
		t.Errorf("extent %d", r.ReorderExtentMax)
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(uint8(0), append(native(9, 0, 0), native(9, 0, 1)...))
	f.Add(uint8(0), append(native(9, 0, 1<<40), probe.AppendEnd(nil, &probe.EndMarker{Run: 9, Counts: []probe.FlowCount{{Flows: 3, Packets: 3}}})...))
	s := probe.Stamper{Format: probe.IPerf2}
	f.Add(uint8(1), s.AppendFIN(native(0, 0, 0), 18, 2, 0, 1000))
	f.Add(uint8(2), []byte("any twelve bytes are a packet to iperf 3"))
	f.Fuzz(func(t *testing.T, format uint8, b []byte) {
		tracker := New(Config{Format: probe.Format(format % 3)})
		step := tracker.config.Format.Size()
		for at := int64(0); len(b) > 0; at += 1000 {
			tracker.Datagram(b, len(b), source(int(b[0])), at) // the rest may be a marker
			b = b[min(step, len(b)):]
		}
		r, err := tracker.Finish(Settlement{Clock: Same})
		if err != nil && strings.Contains(err.Error(), "bug") {
			t.Fatal(err)
		}
		var flows Counts
		for _, f := range r.Flows {
			flows.Add(f.Counts)
			if f.Sent != nil && *f.Sent != f.Unique+f.Lost {
				t.Errorf("flow %d: sent %d, %+v", f.Number, *f.Sent, f.Counts)
			}
		}
		if r.Sent != nil && *r.Sent != r.Unique+r.Lost {
			t.Errorf("sent %d, %+v", *r.Sent, r.Counts)
		}
		if flows.Packets != r.Packets || r.Packets != r.Unique+r.Duplicates+r.BeyondWindow {
			t.Errorf("%+v, the flows together %+v", r.Counts, flows)
		}
	})
}

func ExampleTracker() {
	tracker := New(Config{Format: probe.Native})
	stamper := probe.Stamper{Run: 1}
	payload := make([]byte, probe.NativeSize)
	for _, seq := range []uint64{0, 1, 4, 3, 3} { // of 6; 2 and 5 are lost
		stamper.Put(payload, 0, seq, int64(seq)*1000)
		tracker.Datagram(payload, len(payload), probe.Source{}, int64(seq)*1000+50_000)
	}
	marker := probe.AppendEnd(nil, &probe.EndMarker{Run: 1, Counts: []probe.FlowCount{{Flows: 1, Packets: 6}}})
	tracker.Datagram(marker, len(marker), probe.Source{}, 60_000)
	r, err := tracker.Finish(Settlement{Clock: Same})
	fmt.Println(*r.Sent, r.Unique, r.Lost, r.Duplicates, r.Reordered, r.Bursts.Gaps, r.Delay.P50, err)
	// Output: 6 4 2 1 1 2 50000 <nil>
}
