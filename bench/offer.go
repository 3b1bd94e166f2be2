package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"linerate/bench/search"
	"linerate/bench/stats"
	"linerate/internal/plan"
	"linerate/internal/result"
	"linerate/internal/units"
)

// An Offer is one trial as it is asked for.
type Offer struct {
	Frame    int        // bytes with FCS
	Rate     units.Rate // in packets, or as fast as possible
	Duration time.Duration
	Count    uint64 // packets that end it, in place of Duration
	Trips    bool   // measures round trips, too: only linerate serve can
}

// seconds is how long it lasts.
func (o Offer) seconds() float64 {
	if o.Count > 0 {
		return float64(o.Count) * units.MicrosPerUnit / float64(o.Rate.Micro)
	}
	return o.Duration.Seconds()
}

const (
	// Loads of a search are in packets in 1000 s: fine enough for the slowest link.
	loadsPerPacket = 1000
	// queueing is by how much less than was sent may come out in a trial that lost
	// nothing: beyond that a queue filled, and the rate can't be kept up.
	queueing = 0.001
	// underOffer is by how much less than was asked for a sender may have sent for
	// its trial to say anything of the rate that was asked for.
	underOffer = 0.02
	// A trial that a stall of this machine spoiled is run again, so often at most:
	// one that offered too little, and one that lost some while others left late. If
	// so many were, or two alike, this host is too slow for the rate, or its queue is
	// held by a shaper, and what it did not send counts as lost. Where more was lost
	// than hardlyOurs, no stall explains it.
	shortMost  = 4
	lateMost   = 2
	hardlyOurs = 0.05
	alike      = 0.01 // rates of tries that differ by less
)

// offers runs the trials of one frame size.
type offers struct {
	run    Runner
	frame  int
	settle time.Duration // pause after each trial
	before func(Offer)   // told of each
	burst  units.Rate    // of bursts, where a load is their length in frames; zero where it is a rate

	trials  []result.Trial   // all that ran, in order
	reports []*result.Report // of those that count, in the order of history
	history []search.Trial   // those that count
	ahead   float64          // seconds of what the path carries that it let pass at once, at most
}

// rateOf is the rate of a load.
func rateOf(load uint64) units.Rate {
	return units.Rate{Unit: units.Packets, Micro: load * (units.MicrosPerUnit / loadsPerPacket)}
}

// loadOf is the load of a rate in packets/s, rounded down.
func loadOf(pps float64) uint64 { return uint64(pps * loadsPerPacket) }

// offer is what a step asks for.
func (o *offers) offer(step search.Step) Offer {
	if o.burst != (units.Rate{}) {
		return Offer{Frame: o.frame, Rate: o.burst, Count: step.Load}
	}
	return Offer{Frame: o.frame, Rate: rateOf(step.Load), Duration: o.lengthOf(step.Load, step.Duration)}
}

// strategy runs a strategy to its end.
func (o *offers) strategy(ctx context.Context, s search.Strategy) error {
	_, err := search.Run(s, func(step search.Step) (search.Trial, error) { return o.trial(ctx, step) })
	return err
}

// trial runs a step, and again where the sender was held up.
func (o *offers) trial(ctx context.Context, step search.Step) (search.Trial, error) {
	sent := 0.0 // packets/s of the try before
	for again := 0; ; again++ {
		offer := o.offer(step)
		rep, err := o.once(ctx, offer)
		if err != nil {
			return search.Trial{}, err
		}
		t := judge(offer, rep)
		t.Again = spoiled(&t, rep.Sender, again, sent)
		if r := rep.Sender.Rate; r != nil {
			sent = r.PPS
		}
		o.trials = append(o.trials, t)
		if search.LossRatio(t.Sent, t.Unique) > hardlyOurs && rep.Receiver.Rate != nil && offer.Count == 0 {
			o.ahead = max(o.ahead, aheadOf(rep.Receiver))
		}
		if t.Again {
			continue
		}
		trial := search.Trial{Step: step, Loss: t.Offered.LossRatio}
		if t.Queued != nil {
			trial.Loss = max(trial.Loss, *t.Queued)
		}
		if less := less(&t, rep.Sender); less > underOffer {
			trial.Loss = max(trial.Loss, less)
		}
		o.history = append(o.history, trial)
		o.reports = append(o.reports, rep)
		return trial, nil
	}
}

// spoiled says whether a stall of the sender may have made a trial what it is; before
// is how many packets/s the same offer came to the time before, 0 for the first.
func spoiled(t *result.Trial, s *result.Sender, again int, before float64) bool {
	wire := search.LossRatio(t.Sent, t.Unique)
	switch {
	case wire > hardlyOurs:
		return false
	case s.Shortfall > 0 || less(t, s) > underOffer:
		return again < shortMost && (s.Rate == nil || math.Abs(s.Rate.PPS-before) > alike*before)
	}
	return (wire > 0 || t.Queued != nil) && s.LatePackets > 0 && again < lateMost
}

// less is by how much less than was asked for a sender sent.
func less(t *result.Trial, s *result.Sender) float64 {
	if s.Rate == nil || t.Offered.PPS == 0 {
		return 0
	}
	return 1 - s.Rate.PPS/t.Offered.PPS
}

// once runs one trial and pauses after it.
func (o *offers) once(ctx context.Context, offer Offer) (*result.Report, error) {
	o.before(offer)
	rep, err := o.run(ctx, offer)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(o.settle):
		return rep, nil
	}
}

// judge says what a trial came to.
func judge(offer Offer, rep *result.Report) result.Trial {
	s, r := rep.Sender, rep.Receiver
	due := s.Packets + s.Shortfall
	t := result.Trial{Sent: s.Packets, Unique: r.Unique, Lost: r.Lost, Offered: &result.Offered{
		PPS: float64(offer.Rate.Micro) / units.MicrosPerUnit, DurationS: offer.seconds(), Shortfall: s.Shortfall,
		LossRatio: search.LossRatio(due, r.Unique),
	}}
	if due > 0 {
		low, high := stats.Wilson(due-r.Unique, due)
		t.LossCI95 = &[2]float64{low, high}
	}
	if r.Rate == nil {
		return t
	}
	t.PPS, t.L2Bps = r.Rate.PPS, r.Rate.L2Bps
	if s.Rate == nil || r.Lost > 0 || offer.Count > 0 { // a burst is there to fill queues
		return t
	}
	if less := 1 - r.Rate.PPS/s.Rate.PPS; less > queueing {
		t.Queued = &less
	}
	return t
}

// fastest tries how fast this host sends frames of the size, in packets/s: the better
// of two short trials, of which something else may have held up one. They are none of
// the search.
func (o *offers) fastest(ctx context.Context, length time.Duration) (pps float64, err error) {
	for range 2 {
		rep, err := o.once(ctx, Offer{Frame: o.frame, Rate: units.Rate{Unit: units.Max}, Duration: min(length, steering)})
		if err != nil {
			return 0, err
		}
		if r := rep.Sender.Rate; r != nil {
			pps = max(pps, r.PPS)
		}
	}
	if pps == 0 {
		return 0, &plan.PeerError{Err: fmt.Errorf("nothing could be sent")}
	}
	return pps, nil
}

// at are the indices of the trials at a load that decide.
func (o *offers) at(load uint64, decides time.Duration) (list []int) {
	for i, t := range o.history {
		if t.Load == load && t.Duration >= decides {
			list = append(list, i)
		}
	}
	return list
}

// heldUp says whether trials at a load lost more than was allowed only because this
// host did not send all that was due.
func (o *offers) heldUp(load uint64, allowed float64) bool {
	for i, t := range o.history {
		if rep := o.reports[i]; t.Load == load && t.Loss > allowed && (rep.Receiver.Lost > 0 || rep.Sender.Shortfall == 0) {
			return false
		}
	}
	return true
}

// best is the trial at a load that lost least, the fastest of them.
func (o *offers) best(load uint64, decides time.Duration) *result.Report {
	var best *result.Report
	least, most := math.Inf(1), 0.0
	for _, i := range o.at(load, decides) {
		loss, rate := o.history[i].Loss, 0.0
		if r := o.reports[i].Receiver.Rate; r != nil {
			rate = r.PPS
		}
		if loss < least || loss == least && rate > most {
			best, least, most = o.reports[i], loss, rate
		}
	}
	return best
}

// spread is the least and the most that arrived in the trials at a load.
func (o *offers) spread(load uint64, decides time.Duration) *[2]float64 {
	s := [2]float64{math.Inf(1), 0}
	for _, i := range o.at(load, decides) {
		if r := o.reports[i].Receiver.Rate; r != nil {
			s = [2]float64{min(s[0], r.PPS), max(s[1], r.PPS)}
		}
	}
	if s[1] == 0 {
		return nil
	}
	return &s
}
