package rx

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"linerate/internal/probe"
	"linerate/rx/track"
)

// pin keeps the test on one CPU, so that one lane sees all.
func pin(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	var before, one unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &before))
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	must(t, unix.SchedSetaffinity(0, &one))
	t.Cleanup(func() {
		must(t, unix.SchedSetaffinity(0, &before))
		runtime.UnlockOSThread()
	})
}

// TestKernelSteps holds that of each step the packets of least and of greatest
// transit come out, in order, and that all are drawn while they are few.
func TestKernelSteps(t *testing.T) {
	pin(t)
	l := load(t, "[::]:5201")
	f := testFrame{src: client4, dst: server4, dstMAC: l.host.mac}
	s := probe.Stamper{Run: testRun}
	var begun int64
	var points []track.KernelPoint
	for seq, ms := range []int64{0, 5, 1, 9, 12, 11, 30, 29, 41, 1, 41, 52} {
		f.payload = make([]byte, 18)
		s.Put(f.payload, 0, uint64(seq), 1e12+ms*1e6)
		l.run(t, f.bytes())
		at := int64(l.kernelFlow(0).Last)
		if seq == 0 {
			begun = at
		}
		points = append(points, track.KernelPoint{Sent: begun + ms*1e6, Transit: at - begun - ms*1e6})
	}
	type step struct{ low, high track.KernelPoint }
	var want []step
	var first int64
	for _, p := range points {
		if len(want) == 0 || p.Sent >= first+10e6 {
			first = p.Sent
			want = append(want, step{p, p})
			continue
		}
		last := &want[len(want)-1]
		if p.Sent = max(p.Sent, first); p.Transit < last.low.Transit {
			last.low = p
		} else if p.Transit > last.high.Transit {
			last.high = p
		}
	}
	var got []step
	for {
		e, ok, err := l.program.Next(time.Now())
		must(t, err)
		if !ok {
			break
		}
		got = append(got, step{kernelPoint(e.Low), kernelPoint(e.High)})
	}
	must(t, l.load(track.New(track.Config{})))
	samples, err := l.program.Samples(l.lanes)
	must(t, err)
	var drawn []track.KernelPoint
	for cpu := range l.lanes {
		if lane := &l.lanes[cpu]; lane.Seen > 0 {
			got = append(got, step{kernelPoint(lane.Low), kernelPoint(lane.High)})
		}
		for _, p := range samples[cpu] {
			drawn = append(drawn, kernelPoint(p))
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("steps (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(points, drawn); diff != "" {
		t.Errorf("drawn (-want +got)\n%s", diff)
	}
}

// TestKernelDraws holds that of many packets each is as likely to be drawn.
func TestKernelDraws(t *testing.T) {
	pin(t)
	l := load(t, "[::]:5201")
	const pieces, each = 10, 20_000
	const seqAt = 14 + 20 + 8 + 4
	program := counting(t, seqAt, l.prog)
	f := testFrame{src: client4, dst: server4, dstMAC: l.host.mac}
	s := probe.Stamper{Run: testRun}
	for piece := range pieces {
		f.payload = make([]byte, 18)
		s.Put(f.payload, 0, uint64(piece*each)-1, 1e12+int64(piece)*1e9)
		if piece == 0 {
			s.Put(f.payload, 0, 0, 1e12)
		}
		_, _, err := program.Benchmark(f.bytes(), each, nil)
		must(t, err)
	}
	must(t, l.load(track.New(track.Config{})))
	samples, err := l.program.Samples(l.lanes)
	must(t, err)
	var drawn [pieces]int
	begun := int64(l.kernelFlow(0).First)
	for _, of := range samples {
		for _, p := range of {
			drawn[(p.Sent-begun)/1e9]++
		}
	}
	const fair, sixSigma = 16384 / pieces, 240
	for piece, n := range drawn {
		if n < fair-sixSigma || n > fair+sixSigma {
			t.Errorf("%d of piece %d drawn, want about %d: %v", n, piece, fair, drawn)
		}
	}
}
