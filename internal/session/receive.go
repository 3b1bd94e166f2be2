package session

import (
	"context"
	"errors"

	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// Receive runs the receiving half of a test. A report comes back whenever the
// path opened, with what was counted until an error ended it. The sockets belong
// to the calling thread's network namespace.
func Receive(ctx context.Context, p *plan.Receive, version string, o Observer) (*result.Report, error) {
	r, err := openReceiving(p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	rep := newReport("recv", version, p.Report, p.Warnings)
	r.describe(rep.Config)
	c, err := newConductor(rep, o, "receiver", p.Config.IfIndex, r.flow())
	if err != nil {
		return nil, err
	}
	defer c.close()
	r.coming = func(now bool) { c.do <- func() { c.meter.Coming(now) } }
	rep.Warnings = append(rep.Warnings, r.notes...)
	r.notes = nil
	o.Started(rep)
	err = c.conduct(ctx, r)
	here, unknown := c.end(r, nil)
	var unsettled error
	rep.Receiver, unsettled = r.settle(c.board.add)
	rep.Hosts = []result.Host{*here}
	test := ledger.Test{Config: rep.Config, IPv6: r.tracker.IPv6(), Receiver: rep.Receiver, ReceiverHost: here}
	rep.Ledger = ledger.Settle(test)
	rep.Limit = ledger.Limit(test, rep.Ledger)
	err = errors.Join(err, unsettled, unknown, reconcile(rep.Receiver, rep.Ledger))
	rep.Config.Flows = r.flowsSeen
	rep.Warnings = append(append(rep.Warnings, r.notes...), ledger.Disturbances(test)...)
	c.board.end()
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}
