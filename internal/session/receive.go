package session

import (
	"context"
	"errors"

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
	c, err := newConductor(rep, o, p.Config.IfIndex)
	if err != nil {
		return nil, err
	}
	defer c.close()
	rep.Warnings = append(rep.Warnings, r.notes...)
	r.notes = nil
	o.Started(rep)
	err = c.conduct(ctx, r)
	rep.Hosts = c.host("receiver")
	var unsettled error
	rep.Receiver, rep.Ledger, unsettled = r.settle(func(iv result.Interval) { c.board.add(0, iv) })
	err = errors.Join(err, unsettled)
	rep.Config.Flows = r.flowsSeen
	rep.Warnings = append(rep.Warnings, r.notes...)
	c.board.end()
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}
