package track

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"linerate/internal/probe"
)

// Finish settles the accounts; the tracker can't be used afterwards. An error
// tells of a sender's count that contradicts what came, or of accounts that
// don't add up, which is a bug; the result is what could be saved.
func (t *Tracker) Finish(s Settlement) (Result, error) {
	t.expect()
	slices.SortFunc(t.flows, func(a, b *flow) int { return cmp.Compare(a.number, b.number) })
	var errs []error
	for _, f := range t.flows {
		foreign, err := f.settle()
		t.foreign += foreign
		errs = append(errs, err)
	}
	r := Result{Summary: t.total(), Foreign: t.foreign}
	if r.Sent = t.sent(); r.Sent != nil {
		if *r.Sent < r.Unique {
			errs = append(errs, fmt.Errorf("the sender counts %d packets, but %d arrived: two senders may share the run", *r.Sent, r.Unique))
			r.Sent = nil
		} else {
			r.Lost = *r.Sent - r.Unique
		}
	}
	t.flows = slices.DeleteFunc(t.flows, func(f *flow) bool { return f.Packets == 0 && f.sent == 0 })
	for _, f := range t.flows {
		r.Flows = append(r.Flows, Flow{Number: f.number, From: f.from, Summary: f.summary()})
	}
	t.addDelay(&r, s)
	t.addCadence(&r)
	return r, errors.Join(errs...)
}

// expect makes flows count of which only the end marker tells.
func (t *Tracker) expect() {
	if t.end == nil || t.config.Selected {
		return
	}
	number := 0
	for _, run := range t.end.Counts {
		for range run.Flows {
			t.Sent(uint16(number), probe.Source{}, run.Packets)
			number++
		}
	}
}

// settle makes all of a flow final. It returns how many packets turn out to be
// foreign: their numbers are ones that the sender never reached. Their bytes stay
// in the sums, as nobody remembers their sizes.
func (f *flow) settle() (foreign uint64, err error) {
	if f.sent < f.next && f.behind(f.sent) {
		err = fmt.Errorf("flow %d: the sender counts %d packets, but number %d arrived: two senders may share the run", f.number, f.sent, f.next-1)
		f.sent = unknown
	}
	end := f.next
	if f.sent != unknown {
		end = f.sent
	}
	for seq := end; seq < f.next; seq++ {
		if f.has(seq) {
			foreign++
		}
	}
	f.Packets -= foreign
	f.Unique -= foreign
	f.finish(end)
	f.Lost = end - f.Unique
	return foreign, errors.Join(err, f.check())
}

// check holds the identities of a settled flow.
func (f *flow) check() error {
	if f.Packets != f.Unique+f.Duplicates+f.BeyondWindow || f.Lost != f.bursts.Lost {
		return fmt.Errorf("flow %d doesn't add up, which is a bug in linerate: %d lost by its loss periods, %+v", f.number, f.bursts.Lost, f.Counts)
	}
	return nil
}

// summary is of one settled flow, but for its delay.
func (f *flow) summary() Summary {
	s := Summary{
		Counts:           f.Counts,
		First:            f.first,
		Last:             f.last,
		ReorderExtentMax: f.extent,
		Bursts:           f.bursts,
		JitterNS:         f.jitterNS(),
		IPDVUndefined:    f.vary.undefined,
	}
	if f.sent != unknown {
		s.Sent = &f.sent
	}
	return s
}

// total is of all settled flows, but for their delay and what was sent.
func (t *Tracker) total() Summary {
	sum := Summary{First: t.first, Last: t.last, JitterNS: meanJitter(t.flows)}
	for _, f := range t.flows {
		sum.Add(f.Counts)
		sum.ReorderExtentMax = max(sum.ReorderExtentMax, f.extent)
		sum.Bursts.merge(&f.bursts)
		sum.IPDVUndefined += f.vary.undefined
	}
	return sum
}

// sent is the sender's count of all flows; nil if it isn't known of every one.
func (t *Tracker) sent() *uint64 {
	if t.end != nil && t.end.Rest > 0 && !t.config.Selected {
		total := t.end.Total()
		return &total
	}
	if t.end == nil && len(t.flows) == 0 {
		return nil
	}
	var total uint64
	for _, f := range t.flows {
		if f.sent == unknown {
			return nil
		}
		total += f.sent
	}
	return &total
}

// addDelay adds what the clocks have a part in. r.Flows go with t.flows.
func (t *Tracker) addDelay(r *Result, s Settlement) {
	all := newDelays()
	for _, f := range t.flows {
		if f.delays != t.later {
			all.merge(f.delays)
		}
	}
	if t.later != nil {
		all.merge(t.later)
	}
	offset := t.wrap(t.base + s.OffsetNS)
	var driftless *Delay
	if s.Clock == Relative {
		offset = -all.transit.min
		driftless = t.skew.delay()
	}
	r.IPDV = all.ipdv.percentiles(0)
	r.Delay, r.PDV = all.transit.delay(offset, s), all.transit.variation()
	r.DelayHistogram = all.transit.histogram(offset)
	for i, f := range t.flows {
		if f.delays != t.later {
			r.Flows[i].IPDV = f.delays.ipdv.percentiles(0)
			r.Flows[i].Delay, r.Flows[i].PDV = f.delays.transit.delay(offset, s), f.delays.transit.variation()
		}
	}
	if driftless != nil { // only the total's sample can do without the drift
		r.Delay, r.PDV, r.DelayHistogram = driftless, &driftless.Percentiles, nil
		for i := range r.Flows {
			r.Flows[i].Delay, r.Flows[i].PDV = nil, nil
		}
		if len(r.Flows) == 1 {
			r.Flows[0].Delay, r.Flows[0].PDV = r.Delay, r.PDV
		}
	}
}

// addCadence adds how evenly packets came. The nominal gap is the mean one: the
// receiver is not told the rate.
func (t *Tracker) addCadence(r *Result) {
	if t.watch == nil {
		return
	}
	first, last := t.watch.Span()
	mean := 0.0
	if seen, before := t.watch.Seen(); before > 0 {
		mean = float64(last-first) / float64(seen-1)
	}
	c := t.watch.Result(last+int64(mean+0.5), mean)
	r.Cadence = &c
}
