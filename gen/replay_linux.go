package gen

import (
	"context"
	"errors"
	"fmt"

	"linerate/internal/linux"
)

// A frameSender sends frames by sendmmsg on an AF_PACKET socket.
type frameSender struct {
	*link
	batch   *linux.MMsg
	taken   uint64
	refused uint64
}

// OpenFrames opens a sender of frames of up to cfg.Frame bytes, without FCS, on the
// interface of cfg. They go by its queueing discipline.
func OpenFrames(cfg *Config) (FrameSender, error) {
	l, err := openLink("packet", &Config{Interface: cfg.Interface, IfIndex: cfg.IfIndex, Window: cfg.Window})
	if err != nil {
		return nil, err
	}
	batch, err := linux.NewMMsg(FrameBatch, cfg.Frame)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("path packet: %w", err), l.close())
	}
	return &frameSender{link: l, batch: batch}, nil
}

func (s *frameSender) Send(frames [][]byte) (int, error) {
	n := min(len(frames), FrameBatch)
	for i, f := range frames[:n] {
		copy(s.batch.Slot(i), f)
		s.batch.SetPart(i, 0, len(f))
	}
	o := offer(s.batch, s.fd, n)
	s.taken += uint64(o.sent)
	s.refused += o.refused + o.silent // nothing else stops this socket and passes
	if o.err != nil {
		return o.sent, s.sendError(len(frames[o.sent]), o.err)
	}
	return o.sent, nil
}

func (s *frameSender) Drain(ctx context.Context) (Completed, error) {
	done := Completed{Packets: s.taken, Refused: s.refused}
	if err := waitEmpty(ctx, s.fd); err != nil {
		return done, fmt.Errorf("path packet: %w", err)
	}
	return done, nil
}

func (s *frameSender) Close() error {
	return errors.Join(s.batch.Close(), s.close())
}
