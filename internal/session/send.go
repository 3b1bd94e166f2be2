package session

import (
	"context"

	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// Send runs the sending half of a test. A report comes back whenever the test
// began, with what was measured until an error ended it. The sockets belong to
// the calling thread's network namespace.
func Send(ctx context.Context, p *plan.Send, version string, o Observer) (*result.Report, error) {
	s, err := openSending(p)
	if err != nil {
		return nil, err
	}
	defer s.close()
	rep := newReport("send", version, p.Report, p.Warnings)
	if err := s.describe(rep.Config); err != nil {
		return nil, err
	}
	c, err := newConductor(rep, o, "sender", p.Config.IfIndex, s.flow())
	if err != nil {
		return nil, err
	}
	defer c.close()
	o.Started(rep)
	err = c.conduct(ctx, s)
	c.board.end()
	rep.Sender = s.sent()
	here, _ := c.end(s, nil) // a sender's path has no count that can fail
	rep.Hosts = []result.Host{*here}
	test := ledger.Test{Config: rep.Config, Sender: rep.Sender, SenderHost: here}
	rep.Limit = ledger.Limit(test, nil)
	rep.Warnings = append(append(rep.Warnings, s.notes...), ledger.Disturbances(test)...)
	if err != nil {
		rep.Error = err.Error()
	}
	return rep, err
}
