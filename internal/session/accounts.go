package session

import (
	"errors"
	"fmt"
	"net/netip"

	"linerate/internal/ledger"
	"linerate/internal/result"
)

// end is what this end of a test counted, with what the paths of its legs say of
// themselves. The second is the leg of --bidir's second direction; nil if there is
// none.
func (c *conductor) end(first, second leg) (*result.Host, error) {
	h := c.host()
	var err error
	h.Socket, err = socketOf(first)
	back, errSecond := socketOf(second)
	if back != nil && h.Reverse == nil {
		h.Reverse = &result.Passage{}
	}
	if back != nil {
		h.Reverse.Socket = back
	}
	return h, errors.Join(err, errSecond)
}

// socketOf is what the path of a leg says of itself; nil for one that does not
// deal in packets.
func socketOf(l leg) (*result.Socket, error) {
	switch l := l.(type) {
	case *sending:
		return l.socket(), nil
	case *receiving:
		return l.socket()
	case *iperf2Receiving:
		return l.socket()
	}
	return nil, nil
}

// known is what is known of a direction; a host of which nothing is, is nil.
func (c *conductor) known(d *result.Direction, from, to *result.Host) ledger.Test {
	test := ledger.Test{Config: c.rep.Config, Sender: d.Sender, Receiver: d.Receiver, SenderHost: from, ReceiverHost: to}
	if a, err := netip.ParseAddrPort(c.rep.Config.Destination); err == nil {
		test.IPv6 = a.Addr().Is6() && !a.Addr().Is4In6()
	}
	if c.rep.RTTNS != nil {
		test.Probes = c.rep.RTTNS.Sent
	}
	if c.rep.BounceNS != nil {
		test.Probes += c.rep.BounceNS.Tried
	}
	return test
}

// judge says of a direction of a test what the counters of its ends show together:
// it fills in where packets were lost, and returns what held the rate.
func (c *conductor) judge(d *result.Direction, from, to *result.Host) (*result.Limit, error) {
	test := c.known(d, from, to)
	d.Ledger = ledger.Settle(test)
	return ledger.Limit(test, d.Ledger), reconcile(d.Receiver, d.Ledger)
}

// file puts the n directions of a test into its report, with what this host, the only
// one that tells anything, counted, and how the test ended, which it returns.
func (c *conductor) file(ways *[2]result.Direction, n int, here *result.Host, err error) error {
	sends := c.role == "sender"
	limit, unbalanced := c.judgeHere(&ways[0], sends, here)
	if n > 1 {
		back, unbalancedBack := c.judgeHere(&ways[1], !sends, ledger.Back(here))
		limit, unbalanced = eitherWay(limit, back), errors.Join(unbalanced, unbalancedBack)
		c.rep.Reverse = &ways[1]
	}
	c.rep.Sender, c.rep.Receiver, c.rep.Ledger, c.rep.Limit = ways[0].Sender, ways[0].Receiver, ways[0].Ledger, limit
	c.rep.Hosts = []result.Host{*here}
	if err = errors.Join(err, unbalanced); err != nil {
		c.rep.Error = err.Error()
	}
	return err
}

// judgeHere judges a direction whose other end tells nothing of its host.
func (c *conductor) judgeHere(d *result.Direction, sends bool, here *result.Host) (*result.Limit, error) {
	if sends {
		return c.judge(d, here, nil)
	}
	return c.judge(d, nil, here)
}

// disturbed adds to the report what made a direction no clean one.
func (c *conductor) disturbed(d *result.Direction, from, to *result.Host) {
	c.rep.Warnings = append(c.rep.Warnings, ledger.Disturbances(c.known(d, from, to))...)
}

// eitherWay is what held a test both ways: its first direction, unless only the
// second was held. Of what holds one way alone it names which.
func eitherWay(first, second *result.Limit) *result.Limit {
	held := func(l *result.Limit) bool { return l != nil && l.By != "rate" }
	way, l := "forward", first
	if !held(first) && (held(second) || first == nil) {
		way, l = "reverse", second
	}
	if !held(l) {
		return l
	}
	return &result.Limit{By: l.By, Why: way + ": " + l.Why}
}

// reconcile holds an account to the identities of the report.
func reconcile(r *result.Receiver, l *result.Ledger) error {
	if l == nil {
		return nil
	}
	explained := l.Unexplained
	for _, s := range l.Lost {
		explained += s.Packets
	}
	var beyond uint64
	if r.Arrivals != nil {
		beyond = r.BeyondWindow
	}
	switch {
	case r.Packets != r.Unique+r.Duplicates+beyond:
		return fmt.Errorf("the account does not add up, which is a bug: %d packets are not %d unique, %d duplicates and %d beyond the window",
			r.Packets, r.Unique, r.Duplicates, beyond)
	case explained != r.Lost:
		return fmt.Errorf("the ledger does not add up, which is a bug: it has %d of %d lost packets", explained, r.Lost)
	}
	return nil
}
