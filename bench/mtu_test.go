package bench

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linerate/internal/pmtu"
)

// A road is a path of a test: what fits each way, who refuses, how much is lost.
type road struct {
	local, forward, reverse int
	router                  bool // answers what is too large
	known                   int  // what this host knows of the path
	loss                    float64
	random                  *rand.Rand
}

func (r *road) PathMTU() (int, error) { return r.known, nil }

func (r *road) Send(_ context.Context, p pmtu.Probe) (pmtu.Answer, error) {
	size := p.Size
	if p.Whole && size > r.local {
		return pmtu.Answer{Refusal: &pmtu.Refusal{MTU: r.local}}, nil
	}
	if !p.Whole {
		size = min(size, r.known)
	}
	lost := func() bool { return r.random.Float64() < r.loss }
	if lost() {
		return pmtu.Answer{}, nil
	}
	if size > r.forward {
		if r.router {
			r.known = r.forward
			return pmtu.Answer{Refusal: &pmtu.Refusal{From: netip.MustParseAddr("10.77.1.254"), MTU: r.forward}}, nil
		}
		return pmtu.Answer{}, nil
	}
	if lost() {
		return pmtu.Answer{}, nil
	}
	a := pmtu.Answer{Arrived: true, RTT: time.Millisecond}
	if p.Size > r.reverse {
		a.Fragment = 20 + (r.reverse-20)/8*8
	}
	return a, nil
}

// Any path is measured exactly, whatever is refused by whom, and with 5 % loss.
func TestAnyPathIsMeasuredExactly(t *testing.T) {
	sizes := rapid.OneOf(rapid.SampledFrom([]int{9216, 9000, 4470, 1500, 1492, 1400, 1280}), rapid.IntRange(100, 9216))
	rapid.Check(t, func(r *rapid.T) {
		w := &road{
			local: rapid.SampledFrom([]int{1500, 9000, 9216, 65535}).Draw(r, "local"), router: rapid.Bool().Draw(r, "router"),
			loss: rapid.SampledFrom([]float64{0, 0.05}).Draw(r, "loss"), random: rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)),
		}
		w.known = w.local
		w.forward = min(sizes.Draw(r, "forward"), w.local)
		w.reverse = min(sizes.Draw(r, "reverse"), w.local)
		rep, err := (&MTU{Prober: w, Local: w.local, Progress: func(string) {}}).Measure(context.Background())
		if err != nil {
			r.Fatal(err)
		}
		row := rep.Results[0].MTU
		by := "silence"
		switch {
		case w.forward == w.local:
			by = "here"
		case w.router:
			by = "router"
		}
		if *row.Forward != w.forward || row.RefusedBy != by {
			r.Errorf("forward %d, refused by %s, want %d by %s", *row.Forward, row.RefusedBy, w.forward, by)
		}
		// Beyond a black hole on the way there nothing is known of the way back.
		want, least := w.reverse, false
		if by == "silence" && w.reverse >= w.forward {
			want, least = w.forward, true
		}
		if least = least || want >= w.local; *row.Reverse != want || row.ReverseAtLeast != (least && want >= w.forward) {
			r.Errorf("reverse %d (at least: %v), want %d (%v): %+v", *row.Reverse, row.ReverseAtLeast, want, least, w)
		}
		if row.Fragmented != (w.reverse < w.forward || w.reverse < w.local && by != "silence") {
			r.Errorf("fragmented: %v of %+v", row.Fragmented, w)
		}
		if w.loss == 0 && row.Unanswered != 0 {
			r.Errorf("%d unanswered without loss", row.Unanswered)
		}
	})
}

func TestAPeerThatDoesNotAnswerIsSaidSo(t *testing.T) {
	w := &road{local: 1500, known: 1500, forward: 0, random: rand.New(rand.NewPCG(1, 1))}
	rep, err := (&MTU{Prober: w, Peer: "10.77.0.9", Local: 1500, Progress: func(string) {}}).Measure(context.Background())
	if err == nil || rep.Results[0].Forward != nil || rep.Error == "" {
		t.Errorf("%+v, %v", rep, err)
	}
}
