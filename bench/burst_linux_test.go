package bench

import (
	"context"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/result"
)

// The longest burst that a shaped link takes is what its queue and its bucket hold,
// with what leaves meanwhile.
func TestTheLongestBurstFillsTheQueue(t *testing.T) {
	const frame, queue, bucket = 1514, 80, 2 // bytes without FCS; frames
	l, err := lab.New(lab.Config{Shape: lab.Shape{Rate: 20_000_000, Burst: bucket * frame, Limit: queue * frame}})
	check(t, err)
	defer l.Close()
	capacity := 20e6 / (8 * frame) // packets/s
	c := &Search{Trial: 100 * time.Millisecond, Repeats: 1}
	o := &offers{run: inLab(l, false, "packet"), frame: 1518, settle: c.settle(), before: func(Offer) {}}
	f := &result.Found{PPS: &capacity}
	check(t, c.backToBack(context.Background(), o, f, loadOf(5*capacity)))
	if got := f.BackToBack.BufferFrames; got < 0.9*(queue+bucket) || got > 1.1*(queue+bucket) {
		t.Errorf("a buffer of %v frames, want %d: %+v", got, queue+bucket, f.BackToBack)
	}
}
