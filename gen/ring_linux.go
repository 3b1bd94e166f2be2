package gen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

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

// A ringSender sends frames from a PACKET_TX_RING, those of a burst as
// super-frames where the kernel takes them.
type ringSender struct {
	*link
	segments
	marks    *link // for end markers, which may be longer than a slot
	template *frame.Template
	ring     *linux.TxRing
	slots    []ringSlot // as they lie in the ring
	batch    int
	taken    uint64
	refused  uint64
}

// A ringSlot is what a slot of the ring holds.
type ringSlot struct {
	packets    int // of its last frame
	laid, size int // payloads that lie behind one another in it, and their size
}

func probeRing(cfg *Config) error {
	const smallest = 60
	l, err := openLink("ring", cfg)
	if err != nil {
		return err
	}
	ring, err := linux.NewTxRing(l.fd, 1, smallest)
	if err != nil {
		return errors.Join(fmt.Errorf("path ring: %w", err), l.close())
	}
	return errors.Join(ring.Close(), l.close())
}

func openRing(cfg *Config) (Sender, error) {
	s := &ringSender{template: cfg.Template, batch: max(cfg.Batch, 1)}
	if err := s.open(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *ringSender) open(cfg *Config) (err error) {
	if s.marks, err = openLink("ring", cfg); err != nil {
		return err
	}
	if s.link, err = openLink("ring", cfg); err != nil {
		return err
	}
	s.segments = newSegments(s.head > 0)
	frame, frames := s.longest()
	frame += s.head
	if s.ring, err = linux.NewTxRing(s.fd, max(min(ringMemory/frame, ringSlots), 2*frames), frame); err != nil {
		return fmt.Errorf("path ring: %w", err)
	}
	s.slots = make([]ringSlot, s.ring.Len())
	for k := range s.ring.Len() {
		s.template.Fill(s.ring.Slot(k)[s.head:])
	}
	return nil
}

// longest is the length of the longest frame, and how many frames a batch may
// come to.
func (s *ringSender) longest() (length, frames int) {
	length = s.template.MaxFrameLen()
	for _, size := range s.template.Sizes {
		k := min(s.per(size), s.batch)
		length = max(length, s.template.FrameLen(k*size))
		frames = max(frames, (s.batch+k-1)/k)
	}
	return length, frames
}

func (s *ringSender) Send(b pace.Burst) (int, error) {
	if s.head > 0 && !s.fits(s.template.PacketLen(b.Size)) {
		return 0, s.sendError(s.template.FrameLen(b.Size), unix.EMSGSIZE)
	}
	n := min(b.N, s.batch)
	per := s.per(b.Size)
	slots := s.ring.Room((n + per - 1) / per)
	if slots == 0 {
		s.refused++
		return 0, nil
	}
	n = min(n, slots*per)
	now := linux.Monotonic()
	for k := range slots {
		s.stamp(k, min(per, n-k*per), rest(b, k*per), now)
	}
	gone, err := s.offer(slots)
	sent := min(gone*per, n)
	s.note(min(sent, per))
	s.taken += uint64(sent)
	switch {
	case sent == n:
		return sent, nil
	case err == nil, isRefusal(err): // no error: the send buffer was full
		s.refused++
		return sent, nil
	case s.fewer(err, per):
		more, err := s.Send(rest(b, sent))
		return sent + more, err
	}
	return sent, s.sendError(s.template.FrameLen(b.Size), err)
}

// stamp makes a frame of the first n packets of a burst in the slot k places
// after the next one.
func (s *ringSender) stamp(k, n int, b pace.Burst, now int64) {
	slot := s.ring.Slot(k)
	buf := slot[s.head:]
	s.lay(k, n, b.Size)
	if n == 1 {
		if s.head > 0 {
			linux.PutVirtio(slot, 0, 0)
		}
		s.ring.SetLen(k, s.head+s.template.Stamp(buf, b.Flow, b.First, b.Size, now))
		return
	}
	headers := s.template.HeaderLen()
	linux.PutVirtio(slot, headers, b.Size)
	s.template.StampSuper(buf, b.Flow, b.Size, n)
	for i := range n {
		s.template.StampPayload(buf[headers+i*b.Size:][:b.Size], b.Flow, b.First+uint64(i), now)
	}
	s.ring.SetLen(k, s.head+headers+n*b.Size)
}

// lay makes a slot hold n payloads of a size behind one another. Rings without
// super-frames hold one of the largest size for good.
func (s *ringSender) lay(k, n, size int) {
	slot := &s.slots[s.ring.Index(k)]
	slot.packets = n
	if s.head == 0 || slot.size == size && slot.laid >= n {
		return
	}
	payloads := s.ring.Slot(k)[s.head+s.template.HeaderLen():]
	for i := range n {
		s.template.FillPayload(payloads[i*size:][:size])
	}
	slot.laid, slot.size = n, size
}

// offer hands the next n slots to the kernel and returns how many it took. As with
// a batch, an error may be old: a link that was down is told late.
func (s *ringSender) offer(n int) (taken int, err error) {
	for tries := 0; ; tries++ {
		var k int
		k, err = s.ring.Send(n - taken)
		taken += k
		if taken == n || err == nil || isRefusal(err) || tries == staleTries {
			return taken, err
		}
	}
}

func (s *ringSender) Mark(flow uint16, payload []byte) error {
	return s.marks.mark(s.template.Datagram(flow, payload))
}

func (s *ringSender) Drain(ctx context.Context) (Completed, error) {
	for {
		pending := s.pending()
		done := Completed{Packets: s.taken - uint64(pending), Refused: s.refused}
		if pending == 0 {
			return done, nil
		}
		if err := ctx.Err(); err != nil {
			return done, fmt.Errorf("path ring: %d packets are still queued on %s: %w", pending, s.iface, err)
		}
		time.Sleep(drainPause)
	}
}

// pending counts the packets that the kernel took and that have not left.
func (s *ringSender) pending() (packets int) {
	for i := range s.slots {
		if s.ring.Pending(i) {
			packets += s.slots[i].packets
		}
	}
	return packets
}

func (s *ringSender) Close() error {
	var errs []error
	if s.ring != nil {
		errs = append(errs, s.ring.Close())
	}
	for _, l := range []*link{s.link, s.marks} {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	s.ring, s.link, s.marks = nil, nil, nil
	return errors.Join(errs...)
}
