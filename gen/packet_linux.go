package gen

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A packetSender sends frames by sendmmsg on an AF_PACKET socket, those of a burst
// as super-frames where the kernel takes them.
type packetSender struct {
	*link
	segments
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
	batch, err := linux.NewMMsg(batchLen(cfg), l.head+cfg.Template.MaxFrameLen())
	if err != nil {
		l.close()
		return nil, fmt.Errorf("path packet: %w", err)
	}
	s := &packetSender{link: l, segments: newSegments(l.head > 0), template: cfg.Template, batch: batch}
	for i := range batch.Len() {
		cfg.Template.Fill(s.frame(i))
	}
	return s, nil
}

// frame is the frame of slot i, which has a virtio-net header before it if the
// socket has.
func (s *packetSender) frame(i int) []byte { return s.batch.Slot(i)[s.head:] }

// batchLen is how many packets one call may take.
func batchLen(cfg *Config) int { return min(max(cfg.Batch, 1), linux.MaxMMsg) }

func (s *packetSender) Send(b pace.Burst) (int, error) {
	n := min(b.N, s.batch.Len())
	per := s.per(b.Size)
	if per > 1 && n > 1 && !s.fits(s.template.PacketLen(b.Size)) {
		return 0, s.sendError(s.template.FrameLen(b.Size), unix.EMSGSIZE)
	}
	now := linux.Monotonic()
	for i := 0; i < n; i += per {
		if k := min(per, n-i); k > 1 {
			s.stampSuper(i, k, rest(b, i), now)
		} else {
			s.stamp(i, rest(b, i), now)
		}
	}
	o := offer(s.batch, s.fd, s.batch.Gather(0, n, per, 0))
	sent := min(o.sent*per, n)
	s.note(min(sent, per))
	s.taken += uint64(sent)
	s.refused += o.refused + o.silent // nothing else stops this socket and passes
	if s.fewer(o.err, per) {
		more, err := s.Send(rest(b, sent))
		return sent + more, err
	}
	if o.err != nil {
		return sent, s.sendError(s.template.FrameLen(b.Size), o.err)
	}
	return sent, nil
}

// stamp makes a frame of the first packet of a burst in slot i.
func (s *packetSender) stamp(i int, b pace.Burst, now int64) {
	if s.head > 0 {
		linux.PutVirtio(s.batch.Slot(i), 0, 0)
	}
	n := s.template.Stamp(s.frame(i), b.Flow, b.First, b.Size, now)
	s.batch.SetPart(i, 0, s.head+n)
}

// stampSuper makes a super-frame of the first n packets of a burst: headers and
// the first payload from slot i, the other payloads from the slots behind it.
func (s *packetSender) stampSuper(i, n int, b pace.Burst, now int64) {
	headers := s.template.HeaderLen()
	linux.PutVirtio(s.batch.Slot(i), headers, b.Size)
	s.template.StampSuper(s.frame(i), b.Flow, b.Size, n)
	from, to := s.head+headers, s.head+headers+b.Size
	for k := range n {
		s.template.StampPayload(s.batch.Slot(i + k)[from:to], b.Flow, b.First+uint64(k), now)
		s.batch.SetPart(i+k, from, to)
	}
	s.batch.SetPart(i, 0, to)
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
