package gen

import (
	"context"
	"errors"
	"fmt"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A packetSender sends frames by sendmmsg on an AF_PACKET socket.
type packetSender struct {
	*link
	template *frame.Template
	batch    *linux.MMsg
	taken    uint64
	refused  uint64
}

func probePacket(cfg *Config) error {
	l, err := openLink("packet", cfg)
	if err != nil {
		return err
	}
	return l.close()
}

func openPacket(cfg *Config) (Sender, error) {
	l, err := openLink("packet", cfg)
	if err != nil {
		return nil, err
	}
	batch, err := linux.NewMMsg(batchLen(cfg), cfg.Template.MaxFrameLen())
	if err != nil {
		l.close()
		return nil, fmt.Errorf("path packet: %w", err)
	}
	for i := range batch.Len() {
		cfg.Template.Fill(batch.Slot(i))
	}
	return &packetSender{link: l, template: cfg.Template, batch: batch}, nil
}

// batchLen is how many packets one call may take.
func batchLen(cfg *Config) int { return min(max(cfg.Batch, 1), linux.MaxMMsg) }

func (s *packetSender) Send(b pace.Burst) (int, error) {
	n := min(b.N, s.batch.Len())
	now := linux.Monotonic()
	for i := range n {
		s.batch.SetLen(i, s.template.Stamp(s.batch.Slot(i), b.Flow, b.First+uint64(i), b.Size, now))
	}
	o := offer(s.batch, s.fd, n)
	s.taken += uint64(o.sent)
	s.refused += o.refused + o.silent // nothing else stops this socket and passes
	if o.err != nil {
		return o.sent, s.sendError(s.template.FrameLen(b.Size), o.err)
	}
	return o.sent, nil
}

func (s *packetSender) Mark(flow uint16, payload []byte) error {
	return s.mark(s.template.Datagram(flow, payload))
}

func (s *packetSender) Drain(ctx context.Context) (Completed, error) {
	done := Completed{Packets: s.taken, Refused: s.refused}
	if err := waitEmpty(ctx, s.fd); err != nil {
		return done, fmt.Errorf("path packet: %w", err)
	}
	return done, nil
}

func (s *packetSender) Close() error {
	if s.batch == nil {
		return nil
	}
	batch := s.batch
	s.batch = nil
	return errors.Join(batch.Close(), s.close())
}
