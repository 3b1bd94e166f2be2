package session

import (
	"errors"
	"fmt"
	"time"

	"linerate/internal/host"
	"linerate/internal/ledger"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
	"linerate/rx/track"
)

// settle closes the account of a receiver.
func (c *counting) settle() error {
	stack := c.stack()
	res, err := c.tracker.Finish(readClock().beside(c.tracker.End()))
	total := c.received(&res.Summary, stack)
	total.Foreign = res.Foreign
	total.Cadence = arrivals(res.Cadence, stack, total)
	if len(res.Flows) > 1 {
		for _, f := range res.Flows {
			r := c.received(&f.Summary, stack)
			r.Flow = &f.Number
			total.Flows = append(total.Flows, *r)
		}
	}
	if w := contradiction(total.DelayNS); w != "" {
		c.rep.Warnings = append(c.rep.Warnings, w)
	}
	c.rep.Receiver = total
	c.rep.Config.Flows = len(res.Flows)
	if n := c.tracker.OtherRuns(); n > 0 {
		c.rep.Warnings = append(c.rep.Warnings, fmt.Sprintf(
			"%d datagrams were of another run, and count as foreign: a second sender, or one that was restarted", n))
	}
	if s, ok := c.receiver.(rx.Splitter); ok {
		total.MergedFrames, total.MergedPackets = s.Merged().Frames, s.Merged().Datagrams
	}
	if f, ok := c.receiver.(rx.Framed); ok {
		c.rep.Warnings = append(c.rep.Warnings, oddities(f.Frames())...)
	}
	return errors.Join(err, c.account(&res))
}

// received makes the report of a summary.
func (c *counting) received(s *track.Summary, stack units.Stack) *result.Receiver {
	r := &result.Receiver{
		PayloadBytes: s.PayloadBytes,
		ArrivedPackets: &result.ArrivedPackets{
			Packets:            s.Packets,
			UniquePayloadBytes: s.UniquePayloadBytes,
			Unique:             s.Unique,
			Lost:               s.Lost,
			LossIsLowerBound:   s.Sent == nil,
			Duplicates:         s.Duplicates,
			Reordered:          s.Reordered,
			ReorderExtentMax:   s.ReorderExtentMax,
			Gaps:               s.Bursts.Gaps,
			BeyondWindow:       s.BeyondWindow,
			JitterNS:           s.JitterNS,
		},
	}
	if span := time.Duration(s.Last - s.First); s.Packets > 1 {
		// As many intervals as packets: to when the next one would have come.
		span += span / time.Duration(s.Packets-1)
		r.Seconds = span.Seconds()
		r.Rate = rate(stack, s.Unique, s.UniquePayloadBytes, span)
	}
	if sent := s.Unique + s.Lost; sent > 0 {
		ratio := float64(s.Lost) / float64(sent)
		r.LossRatio = &ratio
	}
	if s.Bursts.Gaps > 0 {
		r.LossBurst = &result.LossBurst{Max: s.Bursts.Max, P50: s.Bursts.P50()}
	}
	if c.plan.Config.Verify {
		r.Corrupt = &s.Corrupt
	}
	if v := s.IPDV; v != nil {
		r.IPDVNS = &result.Percentiles{P50: v.P50, P99: v.P99, P999: v.P999, Max: v.Max}
	}
	if v := s.PDV; v != nil {
		r.PDVNS = &result.Percentiles{P50: v.P50, P99: v.P99, P999: v.P999, Max: v.Max}
	}
	if d := s.Delay; d != nil {
		r.DelayNS = &result.Delay{Min: d.Min, P50: d.P50, P99: d.P99, P999: d.P999, Max: d.Max, Clock: d.Clock.String()}
		if d.Clock == track.Synchronised {
			r.DelayNS.ErrorBoundNS = &d.ErrorNS
		}
	}
	return r
}

// account makes the ledger and holds the report to its identities.
func (c *counting) account(res *track.Result) error {
	drops, err := c.receiver.Drops()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil // the ledger says less here
	}
	r := c.rep.Receiver
	a := ledger.Account{
		Sent:         res.Sent,
		Arrived:      r.Unique,
		Lost:         r.Lost,
		SocketDrops:  drops.Socket,
		ProgramDrops: drops.Program,
		WindowAsked:  c.rep.Config.WindowAsked,
		WindowGot:    c.rep.Config.WindowGot,
	}
	if udp := c.udpErrors(); udp != nil && !c.raw() {
		// The socket's count has wrong checksums in it, the host's are apart.
		a.ChecksumErrors = udp.InCsumErrors
		a.SocketDrops = min(a.SocketDrops, udp.RcvbufErrors)
	}
	l := ledger.Settle(a)
	c.rep.Ledger = l
	explained := l.Unexplained
	for _, s := range l.Lost {
		explained += s.Packets
	}
	switch {
	case r.Packets != r.Unique+r.Duplicates+r.BeyondWindow:
		err = errors.Join(err, fmt.Errorf("the account does not add up, which is a bug: %d packets are not %d unique, %d duplicates and %d beyond the window",
			r.Packets, r.Unique, r.Duplicates, r.BeyondWindow))
	case res.Sent != nil && *res.Sent != r.Unique+r.Lost:
		err = errors.Join(err, fmt.Errorf("the account does not add up, which is a bug: %d sent are not %d unique and %d lost", *res.Sent, r.Unique, r.Lost))
	case explained != r.Lost:
		err = errors.Join(err, fmt.Errorf("the ledger does not add up, which is a bug: it has %d of %d lost packets", explained, r.Lost))
	}
	return err
}

// udpErrors are what this host counted of UDP during the test; nil if unknown.
func (c *counting) udpErrors() *host.UDP {
	after, err := host.ReadSnapshot(c.plan.Config.IfIndex)
	if err != nil || c.before == nil {
		return nil
	}
	since := after.Since(c.before)
	if c.tracker.IPv6() {
		return since.UDP6
	}
	return since.UDP4
}

// raw reports whether the path takes frames from beneath the host's UDP.
func (c *counting) raw() bool {
	_, framed := c.receiver.(rx.Framed)
	return framed
}

// oddities are what a raw path saw of frames that explains a strange result.
func oddities(f rx.Frames) []string {
	var w []string
	if f.Tagged > 0 {
		w = append(w, fmt.Sprintf("%d frames had a VLAN tag: id %d, priority %d", f.Tagged, f.TCI&0xfff, f.TCI>>13))
	}
	if f.Superframes > 0 {
		w = append(w, fmt.Sprintf("%d frames held several datagrams merged by GRO or GSO and could not be counted: ethtool -K IFACE gro off, or --rx udp", f.Superframes))
	}
	if f.BadChecksum > 0 {
		w = append(w, fmt.Sprintf("%d datagrams had a wrong UDP checksum and were not counted", f.BadChecksum))
	}
	if f.Malformed > 0 {
		w = append(w, fmt.Sprintf("%d frames to the port had lengths that contradict each other", f.Malformed))
	}
	if f.BeyondFlows > 0 {
		w = append(w, fmt.Sprintf("%d datagrams were of more flows than this path has room for, and count as foreign: use another --rx", f.BeyondFlows))
	}
	if f.Fragments > 0 {
		w = append(w, fmt.Sprintf("%d datagrams came in fragments; each counts by its first", f.Fragments))
	}
	return w
}

// stack is what stands around the payloads, as far as the path shows it: a UDP
// socket does not tell of a VLAN tag.
func (c *counting) stack() units.Stack {
	s := units.Stack{IPv6: c.tracker.IPv6()}
	if f, ok := c.receiver.(rx.Framed); ok && f.Frames().Tagged > 0 {
		s.VLANTags = 1
	}
	return s
}
