package bench

import (
	"context"
	"errors"
	"fmt"

	"linerate/internal/plan"
	"linerate/internal/result"
)

// A Runner runs one trial. Its report has the config and both ends' account, the
// receiver's with the sender's count.
type Runner func(context.Context, Offer) (*result.Report, error)

// series runs the trials of one command, whose report tells by them what the peer is. A
// trial that does not tell what became of every packet is refused. Once a trial was
// measured the peer has been there: what fails then breaks the series off, be it within
// a trial or between two, and is no longer an error of the plan's kinds, which say why a
// test can't begin.
func (run Runner) series(of *result.Report) Runner {
	measured := false
	return func(ctx context.Context, o Offer) (*result.Report, error) {
		rep, err := run(ctx, o)
		if err == nil {
			err = whole(rep)
		}
		switch {
		case err == nil:
			measured, of.Config.Peer = true, rep.Config.Peer
			return rep, nil
		case measured && ctx.Err() == nil:
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
}

// whole refuses a report that does not tell what became of every packet.
func whole(rep *result.Report) error {
	s, r := rep.Sender, rep.Receiver
	switch {
	case s == nil || s.SentPackets == nil || s.SentPacing == nil || r == nil || r.ArrivedPackets == nil:
		return &plan.PeerError{Err: fmt.Errorf("the peer did not say what arrived")}
	case r.LossIsLowerBound:
		return &plan.PeerError{Err: fmt.Errorf("the receiver was not told how many packets were sent: no end marker reached it")}
	}
	return nil
}
