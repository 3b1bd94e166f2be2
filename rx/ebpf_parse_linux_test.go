package rx

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"linerate/internal/probe"
	"linerate/rx/track"
)

// numbered is a native payload of 100 bytes: the tracker's way to tell what came.
func numbered(seq uint64) []byte {
	b := make([]byte, 100)
	s := probe.Stamper{Run: testRun}
	s.Put(b, 0, seq, 0)
	return b
}

// TestKernelParses holds that the program knows the same frames as the filter
// and the parser of the raw paths, and takes off the wire those that it counts.
func TestKernelParses(t *testing.T) {
	for _, local := range []string{"[::]:5201", "10.0.0.2:5201", "[fd00::2]:5201"} {
		l := load(t, local)
		vm := machine(t, local)
		frames := []testFrame{
			{src: client4, dst: server4},
			{src: client4, dst: server4, options: 40, trailer: 20},
			{src: client4, dst: server4, fragment: 0x2000, udpLen: 2000},
			{src: client6, dst: server6, tags: []uint16{5<<13 | 100}},
			{src: client6, dst: server6, fragment: 1, udpLen: 2000},
			{src: client4, dst: server4, tags: []uint16{100}, udpLen: 20},
		}
		value := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 1, 6, 17, 44, 0x40, 0x44, 0x45, 0x46, 0x60, 0x81, 0x88}))
		rapid.Check(t, func(draw *rapid.T) {
			l.reset(draw)
			inside, outside := track.New(track.Config{}), track.New(track.Config{})
			var want Frames
			for seq := range uint64(rapid.IntRange(1, 20).Draw(draw, "frames")) {
				f := rapid.SampledFrom(frames).Draw(draw, "frame")
				f.dstMAC, f.payload = l.host.mac, numbered(seq)
				b := f.bytes()
				for range rapid.IntRange(0, 2).Draw(draw, "changes") {
					headers := len(b) - f.trailer - len(f.payload)
					b[rapid.IntRange(0, headers-1).Draw(draw, "at")] = value.Draw(draw, "byte")
				}
				mac := [6]byte(b)
				d, ok := parse(b, len(b))
				ours := passes(t, vm, b) && (mac == l.host.mac || mac[0]&1 == 1)
				verdict := l.run(draw, b)
				switch {
				case !ours:
					if verdict != xdpPass {
						draw.Fatalf("verdict %d on a stranger's frame", verdict)
					}
					continue
				case !ok:
					want.Malformed++
					continue
				case d.fragment:
					want.Fragments++
				}
				if d.tagged {
					want.Tagged++
					want.TCI = d.tci
				}
				outside.Datagram(d.payload(), d.size, probe.Source{}, 0)
				if (verdict == xdpDrop) == d.fragment {
					draw.Fatalf("verdict %d, fragment %v", verdict, d.fragment)
				}
			}
			if _, err := l.look(inside, time.Now()); err != nil {
				draw.Fatal(err)
			}
			got := l.Frames()
			got.TCI, want.TCI = 0, 0 // the last of some CPU
			if diff := cmp.Diff(want, got); diff != "" {
				draw.Errorf("(-want +got)\n%s", diff)
			}
			a, b := outside.Totals(), inside.Totals()
			if diff := cmp.Diff(a.Counts, b.Counts); diff != "" || a.Foreign != b.Foreign {
				draw.Errorf("foreign %d, %d (-outside +inside)\n%s", a.Foreign, b.Foreign, diff)
			}
		})
	}
}

// TestKernelFrames is of frames that no packet socket sees like that.
func TestKernelFrames(t *testing.T) {
	l := load(t, "[::]:5201")
	to4 := testFrame{src: client4, dst: server4, dstMAC: l.host.mac, payload: numbered(0)}
	tagged, twice, long, later, short := to4, to4, to4, to4, to4
	short.options = -4
	tagged.tags = []uint16{5<<13 | 100}
	twice.tags = []uint16{7, 8}
	long.payload = make([]byte, 1500)
	later.payload = numbered(0)
	s := probe.Stamper{Run: testRun}
	s.Put(later.payload, ebpfFlows, 0, 0)
	last := later
	last.payload = numbered(0)
	s.Put(last.payload, ebpfFlows-1, 0, 0)
	for _, c := range []struct {
		name    string
		frame   testFrame
		want    Frames
		packets uint64
		foreign uint64
	}{
		{"plain", to4, Frames{}, 1, 0},
		{"tagged", tagged, Frames{Tagged: 1, TCI: 5<<13 | 100}, 1, 0},
		{"two tags", twice, Frames{Tagged: 1, TCI: 7}, 1, 0},
		{"longer than a packet", long, Frames{Superframes: 1}, 0, 0},
		{"of too short a header", short, Frames{Malformed: 1}, 0, 0},
		{"of the last flow", last, Frames{}, 1, 0},
		{"of a flow too many", later, Frames{BeyondFlows: 1}, 0, 1},
	} {
		l.reset(t)
		tracker := track.New(track.Config{})
		if verdict := l.run(t, c.frame.bytes()); verdict != xdpDrop {
			t.Errorf("%s: verdict %d", c.name, verdict)
		}
		_, err := l.look(tracker, time.Now())
		must(t, err)
		if diff := cmp.Diff(c.want, l.Frames()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
		if got := tracker.Totals(); got.Packets != c.packets || got.Foreign != c.foreign {
			t.Errorf("%s: %d packets, %d foreign", c.name, got.Packets, got.Foreign)
		}
	}
}
