package bench

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/result"
	"linerate/internal/units"
)

// A bucket lets pass more than the link carries for long: a trial of the length that
// was asked for would find a rate that is too high by the bucket.
func TestTrialsOutlastABucket(t *testing.T) {
	for _, step := range []struct {
		bucket float64 // s of what is carried
		warned bool
	}{{0.01, false}, {0.08, true}} {
		const capacity = 50_000
		w := &wire{fastest: 100_000, capacity: capacity, buffer: uint64(step.bucket * capacity)}
		c := &Search{
			Run: func(ctx context.Context, o Offer) (*result.Report, error) {
				rep, err := w.run(ctx, o)
				r := rep.Receiver
				r.Seconds = o.seconds()
				r.Arrivals = &result.Arrivals{}
				r.WorstWindow = map[string]result.Window{"100ms": {Most: &result.Rate{PPS: min(rep.Sender.Rate.PPS, capacity*(1+step.bucket/0.1))}}}
				return rep, err
			},
			Frames: []int{512}, Most: units.Rate{Unit: units.Packets, Micro: 2 * capacity * units.MicrosPerUnit}, Method: MLRsearch, Trial: time.Second / 2,
			Started: func(*result.Report, time.Duration) {}, Progress: func(string) {},
		}
		rep, err := c.Search(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		most := max(headStart, step.bucket/longestForFrames.Seconds()) + 2*queueing
		if got := *rep.Results[0].Found.PPS/capacity - 1; got < -width || got > most {
			t.Errorf("a bucket of %v s: found %+.2f %% of what is carried, want up to %+.2f %%", step.bucket, 100*got, 100*most)
		}
		if warned := len(rep.Warnings) == 1 && strings.Contains(rep.Warnings[0], "pass at once"); warned != step.warned {
			t.Errorf("a bucket of %v s: %q", step.bucket, rep.Warnings)
		}
	}
}

// The bucket is what the best window has beyond the rest.
func TestAheadOfItsRate(t *testing.T) {
	const carried, bucket, length = 1000, 0.02, 2
	r := &result.Receiver{
		Seconds: length, Rate: &result.Rate{PPS: carried * (1 + bucket/length)},
		Arrivals: &result.Arrivals{Cadence: result.Cadence{WorstWindow: map[string]result.Window{"100ms": {Most: &result.Rate{PPS: carried * (1 + bucket/0.1)}}}}},
	}
	if got := aheadOf(r); math.Abs(got/bucket-1) > 0.02 {
		t.Errorf("%v s, want %v", got, bucket)
	}
	r.WorstWindow = nil
	if got := aheadOf(r); got != 0 {
		t.Errorf("%v s without windows", got)
	}
}
