package pace

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// planned is a packet of a schedule and when it is due.
type planned struct {
	flow uint16
	seq  uint64
	size int
}

// TestSharesMakeTheSchedule: workers that know nothing of each other send, between
// them, each packet of the schedule once and when it is due.
func TestSharesMakeTheSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			Sizes:     []int{100, 100, 700}[:rapid.IntRange(1, 3).Draw(t, "sizes")],
			MicroRate: rapid.Uint64Range(0, 1).Draw(t, "paced") * rapid.Uint64Range(1e5, 5e7).Draw(t, "rate") * microsPerUnit,
			Flows:     rapid.IntRange(1, 20).Draw(t, "flows"),
			Burst:     rapid.IntRange(1, 9).Draw(t, "burst"),
			Count:     rapid.Uint64Range(1, 500).Draw(t, "count"),
		}
		s.Costs = []uint64{800, 800, 5600}[:len(s.Sizes)]
		if s.MicroRate > 0 && rapid.Bool().Draw(t, "ends") {
			s.Duration = time.Millisecond
		}
		workers := rapid.IntRange(1, s.Flows).Draw(t, "workers")

		due := func(s Schedule) (map[planned]time.Duration, *Pacer) {
			sent, p := simulate(s, 10, never)
			packets := map[planned]time.Duration{}
			for _, b := range sent {
				for i := range b.N {
					packets[planned{b.Flow, b.First + uint64(i), b.Size}] = b.Due
				}
			}
			return packets, p
		}
		want, whole := due(s)
		got := map[planned]time.Duration{}
		var shares []*Pacer
		for i := range workers {
			packets, p := due(s.Split(i, workers))
			for k, at := range packets {
				if _, twice := got[k]; twice || !p.s.Has(int(k.flow)) {
					t.Fatalf("worker %d of %d sends %+v, which is another's", i, workers, k)
				}
				got[k] = at
			}
			shares = append(shares, p)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(planned{})); diff != "" {
			t.Fatalf("%d workers (-whole +shares):\n%s", workers, diff)
		}
		if diff := cmp.Diff(SentPerFlow(whole), SentPerFlow(shares...)); diff != "" {
			t.Fatalf("per flow (-whole +shares):\n%s", diff)
		}
		one, all := Finish(whole), Finish(shares...)
		if one.Packets != all.Packets || one.PayloadBytes != all.PayloadBytes {
			t.Fatalf("the whole is %+v, the shares are %+v", one, all)
		}
		if s.MicroRate > 0 && one.Late+all.Late == 0 && !(math.IsNaN(one.ErrorPPM) && math.IsNaN(all.ErrorPPM)) &&
			math.Abs(one.ErrorPPM-all.ErrorPPM) > 1e-6 {
			t.Fatalf("the whole is off by %v ppm, the shares by %v", one.ErrorPPM, all.ErrorPPM)
		}
	})
}

// TestSharesGiveUpTheirOwn: what a stalled worker gives up is its own part of the
// schedule, and so is what it sends.
func TestSharesGiveUpTheirOwn(t *testing.T) {
	s := uniform(800, 8_000_000, 3)
	s.Flows, s.Duration = 7, time.Second
	const workers = 3
	var shares []*Pacer
	for i := range workers {
		_, p := simulate(s.Split(i, workers), 10, func(departure int, _ int64) int64 {
			if i == 1 && departure == 20 {
				return int64(300 * time.Millisecond)
			}
			return 0
		})
		if stats := Finish(p); stats.Packets+stats.Shortfall != p.s.own(10_000) || (stats.Shortfall > 0) != (i == 1) {
			t.Errorf("worker %d: %+v, of %d packets", i, stats, p.s.own(10_000))
		}
		shares = append(shares, p)
	}
	if stats := Finish(shares...); stats.Packets+stats.Shortfall != 10_000 || stats.Shortfall == 0 || stats.Cadence != nil {
		t.Errorf("all: %+v, of 10000 packets", stats)
	}
}

// TestSharesHoldTheRate has a path that takes longer for a call than the gap between
// two packets of a share: more than one leave together, and none of another's.
func TestSharesHoldTheRate(t *testing.T) {
	s := uniform(8_000, 16_000_000_000, 1) // two million packets a second
	s.Flows, s.Most, s.Duration = 6, 64, 100*time.Millisecond
	const workers = 2
	var shares []*Pacer
	for i := range workers {
		sent, p := simulate(s.Split(i, workers), 1900, never)
		most := 0
		for _, b := range sent {
			most = max(most, b.N)
			if !p.s.Has(int(b.Flow)) {
				t.Fatalf("worker %d sends of flow %d", i, b.Flow)
			}
		}
		if most != 2 {
			t.Errorf("worker %d: up to %d packets at once, want 2", i, most)
		}
		shares = append(shares, p)
	}
	if stats := Finish(shares...); stats.Packets != 200_000 || stats.Shortfall != 0 || math.Abs(stats.ErrorPPM) > 100 {
		t.Errorf("%+v", stats)
	}
}

// TestOwnAndPlaceAgree holds that one undoes the other.
func TestOwnAndPlaceAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{Flows: rapid.IntRange(1, 20).Draw(t, "flows"), Burst: rapid.IntRange(1, 9).Draw(t, "burst")}
		workers := rapid.IntRange(1, s.Flows).Draw(t, "workers")
		s = s.Split(rapid.IntRange(0, workers-1).Draw(t, "worker"), workers)
		k := rapid.Uint64Range(0, 1e6).Draw(t, "k")
		place := s.place(k)
		if s.own(place) != k || s.own(place+1) != k+1 {
			t.Fatalf("packet %d is at %d, before which %d are of the share and after which %d", k, place, s.own(place), s.own(place+1))
		}
	})
}
