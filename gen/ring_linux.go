package gen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// The slots of a ring are limited in memory and in number: a device holds at
// most that many frames before it gives the first one back.
const (
	ringMemory = 8 << 20
	ringSlots  = 4096
)

// A ringSender sends frames from a PACKET_TX_RING.
type ringSender struct {
	*link
	marks    *link // for end markers, which may be longer than a slot
	template *frame.Template
	ring     *linux.TxRing
	batch    int
	taken    uint64
	refused  uint64
}

// openRingLink opens the socket and gives it a ring for frames of size bytes.
func openRingLink(cfg *Config, size int) (*link, *linux.TxRing, error) {
	l, err := openLink("ring", cfg)
	if err != nil {
		return nil, nil, err
	}
	slots := max(min(ringMemory/size, ringSlots), 2*cfg.Batch)
	ring, err := linux.NewTxRing(l.fd, slots, size)
	if err != nil {
		l.close()
		return nil, nil, fmt.Errorf("path ring: %w", err)
	}
	return l, ring, nil
}

func probeRing(cfg *Config) error {
	const smallest = 60
	l, ring, err := openRingLink(cfg, smallest)
	if err != nil {
		return err
	}
	return errors.Join(ring.Close(), l.close())
}

func openRing(cfg *Config) (Sender, error) {
	marks, err := openLink("ring", cfg)
	if err != nil {
		return nil, err
	}
	l, ring, err := openRingLink(cfg, cfg.Template.MaxFrameLen())
	if err != nil {
		marks.close()
		return nil, err
	}
	for i := range ring.Len() {
		cfg.Template.Fill(ring.Slot(i))
	}
	return &ringSender{link: l, marks: marks, template: cfg.Template, ring: ring, batch: max(cfg.Batch, 1)}, nil
}

func (s *ringSender) Send(b pace.Burst) (int, error) {
	n := s.ring.Room(min(b.N, s.batch))
	if n == 0 {
		s.refused++
		return 0, nil
	}
	now := linux.Monotonic()
	for i := range n {
		s.ring.SetLen(i, s.template.Stamp(s.ring.Slot(i), b.Flow, b.First+uint64(i), b.Size, now))
	}
	for sent, tries := 0, 0; ; tries++ {
		k, err := s.ring.Send(n - sent)
		sent += k
		s.taken += uint64(k)
		switch {
		case sent == n:
			return sent, nil
		case err == nil, isRefusal(err): // no error: the send buffer was full
			s.refused++
			return sent, nil
		case tries == staleTries: // as in offer, a link that was down is told late
			return sent, s.sendError(s.template.FrameLen(b.Size), err)
		}
	}
}

func (s *ringSender) Mark(flow uint16, payload []byte) error {
	return s.marks.mark(s.template.Datagram(flow, payload))
}

func (s *ringSender) Drain(ctx context.Context) (Completed, error) {
	for {
		pending := s.ring.Pending()
		done := Completed{Packets: s.taken - uint64(pending), Refused: s.refused}
		if pending == 0 {
			return done, nil
		}
		if err := ctx.Err(); err != nil {
			return done, fmt.Errorf("path ring: %d frames are still queued on %s: %w", pending, s.iface, err)
		}
		time.Sleep(drainPause)
	}
}

func (s *ringSender) Close() error {
	if s.ring == nil {
		return nil
	}
	ring := s.ring
	s.ring = nil
	return errors.Join(ring.Close(), s.close(), s.marks.close())
}
