package rx

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/bpf"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// What the XDP program makes of a frame, of linux/bpf.h.
const (
	xdpDrop = 1
	xdpPass = 2
)

// A loaded is the program of a path that is open, with its maps.
type loaded struct {
	*ebpf
	host *testHost
	prog *cebpf.Program
	maps map[string]*cebpf.Map // those that have state
}

// plainPair is a pair of MTU 1500.
func plainPair(tb testing.TB) [2]*testHost {
	tb.Helper()
	a, b := newPair(tb)
	must(tb, a.nl.LinkSetMTU(a.link(tb), 1500))
	must(tb, b.nl.LinkSetMTU(b.link(tb), 1500))
	return [2]*testHost{a, b}
}

func load(t testing.TB, local string) *loaded {
	t.Helper()
	return loadMost(t, local, 0)
}

// loadMost loads a program that counts no more packets than so many.
func loadMost(t testing.TB, local string, most uint64) *loaded {
	t.Helper()
	b := plainPair(t)[1]
	r := b.open(t, "ebpf", Config{Local: netip.MustParseAddrPort(local), Most: most}).(*ebpf)
	l := &loaded{ebpf: r, host: b, maps: map[string]*cebpf.Map{}}
	var err error
	l.prog, err = cebpf.NewProgramFromID(cebpf.ProgramID(b.link(t).Attrs().Xdp.ProgId))
	must(t, err)
	t.Cleanup(func() { l.prog.Close() })
	info, err := l.prog.Info()
	must(t, err)
	ids, _ := info.MapIDs()
	for _, id := range ids {
		m, err := cebpf.NewMapFromID(id)
		must(t, err)
		t.Cleanup(func() { m.Close() })
		info, err := m.Info()
		must(t, err)
		if m.Type() == cebpf.Array && !strings.HasSuffix(info.Name, ".rodata") {
			l.maps[info.Name] = m
		}
	}
	return l
}

// reset makes the program forget what it has seen of its first flows.
func (l *loaded) reset(t fataler) {
	const flows = 80
	for _, m := range l.maps {
		zero := make([]byte, m.ValueSize())
		for key := range min(m.MaxEntries(), flows) {
			if err := m.Put(key, zero); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	_, err := l.events(track.New(track.Config{}), time.Now(), 1<<20)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r := l.ebpf
	*r = ebpf{iface: r.iface, manners: r.manners, program: r.program}
}

func (l *loaded) run(t fataler, frame []byte) uint32 {
	verdict, err := l.prog.Run(&cebpf.RunOptions{Data: frame})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return verdict
}

func (l *loaded) kernelFlow(number uint16) (f bpf.TrackedFlow) {
	if err := l.maps["flows"].Lookup(uint32(number), &f); err != nil {
		panic(err)
	}
	return f
}

type fataler interface{ Fatalf(string, ...any) }

// Twins are trackers inside the kernel and outside it that see the same packets
// at the same time.
type twins struct {
	*loaded
	t               *rapid.T
	inside, outside *track.Tracker
	frame           testFrame
	next            map[uint16]uint64          // of each flow
	flow            map[uint16]bpf.TrackedFlow // as the kernel has it
}

const testRun = 7

// give gives both a payload.
func (w *twins) give(payload []byte, flow uint16) {
	w.frame.payload = payload
	if verdict := w.run(w.t, w.frame.bytes()); verdict != xdpDrop {
		w.t.Fatalf("verdict %d", verdict)
	}
	at := linux.Monotonic() // matters only where the kernel kept its own
	if flow < ebpfFlows {
		before, now := w.flow[flow], w.kernelFlow(flow)
		switch {
		case now.Last != before.Last:
			at = int64(now.Last)
		case now.Doubt.At != before.Doubt.At:
			at = int64(now.Doubt.At)
		}
		w.flow[flow] = now
	}
	w.outside.Datagram(payload, len(payload), source(w.frame.src), at)
}

// probe gives both a packet that left some time ago.
func (w *twins) probe(run, flow uint16, seq uint64, ago time.Duration) {
	b := make([]byte, 18+int(seq%7)*4)
	s := probe.Stamper{Run: run}
	s.Put(b, flow, seq, linux.Monotonic()-int64(ago))
	w.give(b, flow)
}

// marker gives both an end marker, and lets the inner one see it at once.
func (w *twins) marker(payload []byte) {
	w.give(payload, 0)
	w.look()
}

func (w *twins) look() {
	if _, err := w.ebpf.look(w.inside, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(w.outside.Totals(), w.inside.Totals()); diff != "" {
		w.t.Fatalf("totals (-outside +inside)\n%s", diff)
	}
	if a, b := w.outside, w.inside; a.Started() != b.Started() || a.OtherRuns() != b.OtherRuns() || a.Ended() != b.Ended() || a.Complete() != b.Complete() ||
		a.IPv6() != b.IPv6() || a.LastArrival() != b.LastArrival() && a.Started() {
		w.t.Fatalf("started %v %v, ended %v %v, complete %v %v", a.Started(), b.Started(), a.Ended(), b.Ended(), a.Complete(), b.Complete())
	}
}

func (w *twins) finish() {
	w.look()
	if err := w.loadRest(w.inside); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range []track.Settlement{{Clock: track.Same}} {
		want, errWant := w.outside.Finish(s)
		got, errGot := w.inside.Finish(s)
		if fmt.Sprint(errWant) != fmt.Sprint(errGot) {
			w.t.Errorf("outside %v, inside %v", errWant, errGot)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(track.Bursts{})); diff != "" {
			w.t.Fatalf("(-outside +inside)\n%s", diff)
		}
	}
}

// TestKernelAgainstTracker gives the program and the tracker in user space all
// kinds of packets: they have to come to the same result, in every field.
func TestKernelAgainstTracker(t *testing.T) {
	for _, most := range []uint64{0, 100} {
		against(t, most)
	}
}

func against(t *testing.T, most uint64) {
	l := loadMost(t, "[::]:5201", most)
	frames := []testFrame{
		{src: client4, dst: server4, dstMAC: l.host.mac},
		{src: client4, dst: server4, dstMAC: l.host.mac, options: 40},
		{src: client6, dst: server6, dstMAC: l.host.mac},
		{src: client4, dst: server4, dstMAC: l.host.mac, tags: []uint16{5}},
		{src: client6, dst: server6, dstMAC: [6]byte{0x33, 0x33}, tags: []uint16{5}},
	}
	rapid.Check(t, func(t *rapid.T) {
		l.reset(t)
		w := &twins{
			loaded: l, t: t, frame: rapid.SampledFrom(frames).Draw(t, "frame"), next: map[uint16]uint64{}, flow: map[uint16]bpf.TrackedFlow{},
			inside: track.New(track.Config{Most: most}), outside: track.New(track.Config{Most: most}),
		}
		w.play()
		w.finish()
	})
}

const far = 1 << 40

// play draws what arrives.
func (w *twins) play() {
	t := w.t
	flows := rapid.SampledFrom([]uint16{1, 2, 70}).Draw(t, "flows")
	flow := rapid.Uint16Range(0, flows-1)
	if rapid.Bool().Draw(t, "late start") {
		for f := range flows {
			w.next[f] = rapid.SampledFrom([]uint64{0, 5, 1<<32 - 100, 1<<48 - 100}).Draw(t, "first")
		}
	}
	ago := func() time.Duration {
		return rapid.SampledFrom([]time.Duration{0, 30, 250, 10_000, 1_000_000, -5000, time.Hour, -time.Hour}).Draw(t, "ago")
	}
	packet := func(f uint16, seq uint64) {
		w.probe(testRun, f, seq, ago())
		w.next[f] = max(w.next[f], seq+1)
	}
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		f := flow.Draw(t, "flow")
		switch rapid.IntRange(0, 10).Draw(t, "event") {
		case 0, 1:
			for range rapid.IntRange(1, 100).Draw(t, "in order") {
				packet(f, w.next[f])
			}
		case 2, 3:
			hole := rapid.SampledFrom([]uint64{
				1, 1, 2, 63, 64, 65, track.Window - 3, track.Window - 2, track.Window - 1, track.Window, track.Window + 1, 8 * track.Window,
			})
			for range rapid.IntRange(1, 20).Draw(t, "holes") {
				packet(f, w.next[f]+hole.Draw(t, "hole"))
			}
			if rapid.Bool().Draw(t, "up to a word") {
				packet(f, (w.next[f]+3)&^63+64)
			}
		case 4, 5:
			far := rapid.SampledFrom([]uint64{3, 100, 2 * track.Window}).Draw(t, "far")
			back := rapid.OneOf(rapid.Uint64Range(1, far), rapid.Uint64Range(track.Window-1, track.Window+1))
			for range rapid.IntRange(1, 20).Draw(t, "times") {
				if back := back.Draw(t, "back"); w.next[f] >= back {
					packet(f, w.next[f]-back)
				}
			}
		case 6:
			w.doubt(f, ago())
		case 7:
			w.foreign(f)
		case 8:
			w.end(flows)
		case 9:
			w.look()
		case 10:
			for f := range flows {
				packet(f, w.next[f])
			}
		}
	}
}

// doubt draws numbers too far ahead to be believed, which others may bear out.
func (w *twins) doubt(f uint16, ago time.Duration) {
	t := w.t
	seq := w.next[f] + far + rapid.Uint64Range(0, 1000).Draw(t, "beyond")
	run := rapid.SampledFrom([]uint16{testRun, testRun, testRun, 9}).Draw(t, "run")
	for range rapid.IntRange(1, 3).Draw(t, "copies") {
		w.probe(run, f, seq, ago)
	}
	switch rapid.IntRange(0, 3).Draw(t, "then") {
	case 0:
		w.probe(run, f, seq+1, ago)
	case 1:
		w.probe(run, f, seq-rapid.Uint64Range(0, track.Window+1).Draw(t, "before"), ago)
	case 2:
		w.probe(run, f, seq+rapid.Uint64Range(track.Window-1, track.Window+1).Draw(t, "behind"), ago)
	}
	w.look()
	if now := w.kernelFlow(f); now.Place > 0 {
		w.next[f] = now.Next
	}
}

// foreign draws a datagram that is none of the test's.
func (w *twins) foreign(f uint16) {
	good := make([]byte, 30)
	s := probe.Stamper{Run: testRun}
	s.Put(good, f, w.next[f], 0)
	switch rapid.IntRange(0, 4).Draw(w.t, "foreign") {
	case 0:
		w.give(good[:rapid.IntRange(0, 17).Draw(w.t, "short")], f)
	case 1:
		good[0]++
		w.give(good, f)
	case 2:
		w.probe(testRun+1, f, w.next[f], 0)
	case 3:
		w.probe(testRun, f, 1<<48-3, 0)
		w.probe(testRun, f, 1<<48-2, 0) // bears nothing out
	case 4:
		w.marker(append([]byte{probe.MagicEnd >> 8, probe.MagicEnd & 0xff}, make([]byte, rapid.IntRange(0, 600).Draw(w.t, "size"))...))
	}
}

// end draws an end marker: of this run or another, with counts that hold what
// came, or do not.
func (w *twins) end(flows uint16) {
	m := probe.EndMarker{Run: rapid.SampledFrom([]uint16{testRun, testRun, testRun, 9}).Draw(w.t, "run")}
	var sent []uint64
	for f := range rapid.Uint16Range(0, flows).Draw(w.t, "flows told") {
		n := w.next[f] + rapid.SampledFrom([]uint64{0, 0, 1, 100, 3 * track.Window}).Draw(w.t, "tail")
		sent = append(sent, n-min(n, rapid.SampledFrom([]uint64{0, 0, 0, 0, 1, 50}).Draw(w.t, "less")))
	}
	m.Counts = probe.CompressCounts(sent)
	m.Rest = rapid.SampledFrom([]uint64{0, 0, 5}).Draw(w.t, "rest")
	w.marker(probe.AppendEnd(nil, &m))
}
