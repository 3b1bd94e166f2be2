package pace

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// As many bursts begin in a time as it has beats, the one at its end left out.
func TestBurstsIn(t *testing.T) {
	for _, c := range []struct {
		d         time.Duration
		microRate uint64
		want      uint64
	}{
		{10 * time.Second, 60_000_000, 600},
		{time.Second, 29_970_000, 30}, // the last at 0.968 s
		{100 * time.Millisecond, 60_000_000, 6},
		{100*time.Millisecond + 1, 60_000_000, 7},
		{time.Millisecond, 1_000_000, 1},
		{0, 1_000_000, 0},
		{math.MaxInt64, 1e11, 922337203685478},
	} {
		if got := BurstsIn(c.d, c.microRate); got != c.want {
			t.Errorf("%d bursts at %d in %v, want %d", got, c.microRate, c.d, c.want)
		}
	}
}

// Each burst leaves whole at its instant, whatever the time it takes, and no packet of
// the next with it: so many bursts of such sizes, and not one packet besides.
func TestIsochronousIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size, start = 100, 1_000_000
		microRate := rapid.SampledFrom([]uint64{1_000_000, 29_970_000, 60_000_000, 1e11}).Draw(t, "rate")
		packets := rapid.SliceOfN(rapid.Uint64Range(1, 300), 1, 50).Draw(t, "packets")
		s := Schedule{Sizes: []int{size}, Costs: []uint64{8 * size}, MicroRate: 1e12, Flows: 1, Burst: 64,
			Isochronous: NewIsochronous(microRate, packets)}
		s.Duration = s.Isochronous.due(len(packets))
		call := min(int64(s.Isochronous.due(1)), int64(MaxDebt)) / 10 // to send up to 64
		p := NewPacer(s, start)
		left, now := make([]uint64, len(packets)), int64(start)
		var sum, squares float64
		for {
			b, at, ok := p.Next(now)
			if !ok {
				break
			}
			i := 0
			for i < len(left) && left[i] == packets[i] {
				i++
			}
			want := int64(start) + int64(uint64(i)*1e15/microRate)
			if now = max(now, at); at != want || now > want && left[i] == 0 {
				t.Fatalf("burst %d is due at %d and leaves at %d, want %d", i, at, now, want)
			}
			if left[i] += uint64(b.N); left[i] > packets[i] {
				t.Fatalf("burst %d has %d packets, want %d", i, left[i], packets[i])
			}
			p.Sent(b, b.N, now)
			now += call
		}
		for i, n := range packets {
			if left[i] != n {
				t.Fatalf("burst %d had %d packets, want %d", i, left[i], n)
			}
			sum += float64(n * size)
			squares += float64(n * size * n * size)
		}
		got := Finish(p)
		if r := got.Cadence.LongestRun; r != slices.Max(packets) {
			t.Fatalf("%d packets back to back of bursts of %v", r, packets)
		}
		n := float64(len(packets))
		mean := sum / n
		deviation := math.Sqrt(max(0, squares/n-mean*mean))
		if got.Bursts.Bursts != uint64(len(packets)) || got.Bursts.Mean != mean || got.Bursts.StdDev != deviation {
			t.Fatalf("%+v, want %d of %v, %v", got.Bursts, len(packets), mean, deviation)
		}
		if got.Late != 0 || got.Shortfall != 0 || got.PayloadBytes != uint64(sum) {
			t.Fatalf("%+v", got)
		}
		if span := s.Isochronous.due(len(packets)); got.Span > span || got.Span < span-2 {
			t.Fatalf("it took %v, want %v", got.Span, span)
		}
	})
}

// After a stall, what was due more than 100 ms ago is given up; the rest leaves late.
func TestIsochronousGivesUp(t *testing.T) {
	s := Schedule{Sizes: []int{100}, Costs: []uint64{800}, MicroRate: 1e12, Flows: 1, Burst: 64, Duration: time.Second,
		Isochronous: NewIsochronous(10_000_000, []uint64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5})}
	p := NewPacer(s, 0)
	now := int64(450 * time.Millisecond) // bursts 0 to 3 are lost, 4 may still leave
	for {
		b, at, ok := p.Next(now)
		if !ok {
			break
		}
		now = max(now, at)
		p.Sent(b, b.N, now)
	}
	got := Finish(p)
	if got.Packets != 30 || got.Shortfall != 20 || got.Late != 0 || got.Bursts.Bursts != 6 {
		t.Errorf("%+v, %+v", got, got.Bursts)
	}
}
