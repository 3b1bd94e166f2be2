package pace

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// play sends what is ready at once whenever a frame may leave, and stalls before
// frame stallAt; it returns when each frame left.
func play(p *Player, most int, stallAt uint64, stall int64) (left []int64) {
	now := int64(0)
	for {
		k, at, ok := p.Next(now)
		if !ok {
			return left
		}
		now = max(now, at)
		if stall > 0 && k >= stallAt {
			now, stall = now+stall, 0
		}
		n := p.Ready(now, most)
		p.Sent(n, now)
		for range n {
			left = append(left, now)
		}
	}
}

func TestATimelineIsKeptToTheNanosecond(t *testing.T) {
	capture := Timeline{Marks: []uint64{0, 10, 10, 1_000_000}, Cycle: 1_500_000, Num: 1_000_000, Den: 2_000_000} // twice the pace
	p := NewPlayer(capture, 9, 1000)
	left := play(p, 64, 0, 0)
	want := []int64{1000, 1005, 1005, 501000, 751000, 751005, 751005, 1251000, 1501000}
	for k := range want {
		if left[k] != want[k] {
			t.Errorf("frame %d left at %d, want %d", k, left[k], want[k])
		}
	}
	s := p.Finish()
	if s.Packets != 9 || s.Late != 0 || s.Cadence.LongestRun != 2 || s.ErrorPPM != 0 || s.Span != 1_500_005 {
		t.Errorf("%+v, longest run %d", s, s.Cadence.LongestRun)
	}
}

func TestARateOverUnlikeFramesDoesNotDrift(t *testing.T) {
	const rate = 123_456_789 // bit/s
	line := RateTimeline([]uint64{512, 12_144, 72_112}, rate*microsPerUnit)
	const k = 3_000_000_001
	bits := float64(k/3)*(512+12_144+72_112) + 512
	if got, want := line.Due(k), bits/rate*1e9; math.Abs(float64(got)-want) > 4096 { // of the float
		t.Errorf("frame %d is due at %d, want %.0f", uint64(k), got, want)
	}
	if unpaced := RateTimeline([]uint64{1}, 0); unpaced.Due(k) != 0 {
		t.Error("unpaced frames are due at once")
	}
}

// Whatever the timeline and the stall: every frame leaves, none before it is due,
// and debt is repaid at no more than 1.25 times the pace.
func TestAPlayerLeavesNothingOutAndHurriesNoMoreThanItMay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Uint64Range(0, 50e6), 1, 20).Draw(r, "gaps")
		line := Timeline{Num: 1, Den: 1}
		for _, g := range gaps {
			line.Marks = append(line.Marks, line.Cycle)
			line.Cycle += g
		}
		frames := rapid.Uint64Range(1, 200).Draw(r, "frames")
		stall := rapid.Int64Range(0, int64(time.Second)).Draw(r, "stall")
		stallAt := rapid.Uint64Range(0, 200).Draw(r, "at")
		p := NewPlayer(line, frames, 0)
		left := play(p, rapid.IntRange(1, 64).Draw(r, "most"), stallAt, stall)
		if uint64(len(left)) != frames || p.Finish().Packets != frames {
			r.Fatalf("%d frames left of %d", len(left), frames)
		}
		for k := 1; k < len(left); k++ {
			due := int64(line.Due(uint64(k)))
			if left[k] < due {
				r.Errorf("frame %d left at %d, before %d", k, left[k], due)
			}
			if gap := due - int64(line.Due(uint64(k-1))); left[k] != left[k-1] && left[k]-left[k-1] < gap*4/5 {
				r.Errorf("frame %d left %d ns after the one before, which was %d before it", k, left[k]-left[k-1], gap)
			}
		}
	})
}
