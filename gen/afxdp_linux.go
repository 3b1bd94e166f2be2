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

// The slots of an AF_XDP socket are limited in memory, of which an unprivileged
// process may lock only so much (RLIMIT_MEMLOCK), and in number.
const (
	xskMemory = 4 << 20
	xskSlots  = 2048
)

// An afxdpSender sends frames from an AF_XDP socket on a queue of the interface.
type afxdpSender struct {
	*link    // for end markers, and to tell what became of the interface
	template *frame.Template
	xsk      *linux.XSKSender
	batch    int
	taken    uint64
	refused  uint64
}

// openXSK opens an AF_XDP socket for frames of size bytes.
func openXSK(cfg *Config, size int, zeroCopy bool) (*linux.XSKSender, error) {
	slots := max(min(xskMemory/size, xskSlots), 2*cfg.Batch)
	x, err := linux.NewXSKSender(linux.XSKQueue{IfIndex: cfg.IfIndex, Queue: cfg.Queue, ZeroCopy: zeroCopy}, slots, size)
	if err != nil {
		return nil, fmt.Errorf("path afxdp: %w", err)
	}
	if err := setSendBuffer(x.FD(), cfg.Window); err != nil {
		return nil, errors.Join(fmt.Errorf("path afxdp: %w", err), x.Close())
	}
	return x, nil
}

// probeAFXDP tries without zero copy, for which a driver may reset its queue.
func probeAFXDP(cfg *Config) error {
	const smallest = 60
	l, err := openLink("afxdp", cfg)
	if err != nil {
		return err
	}
	x, err := openXSK(cfg, smallest, false)
	if err != nil {
		return errors.Join(err, l.close())
	}
	return errors.Join(x.Close(), l.close())
}

func openAFXDP(cfg *Config) (Sender, error) {
	l, err := openLink("afxdp", cfg)
	if err != nil {
		return nil, err
	}
	x, err := openXSK(cfg, cfg.Template.MaxFrameLen(), cfg.ZeroCopy)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	x.Each(cfg.Template.Fill)
	return &afxdpSender{link: l, template: cfg.Template, xsk: x, batch: max(cfg.Batch, 1)}, nil
}

func (s *afxdpSender) Send(b pace.Burst) (int, error) {
	n := s.xsk.Room(min(b.N, s.batch))
	if n == 0 {
		s.refused++
		return 0, nil
	}
	now := linux.Monotonic()
	for i := range n {
		s.xsk.SetLen(i, s.template.Stamp(s.xsk.Slot(i), b.Flow, b.First+uint64(i), b.Size, now))
	}
	taken, err := s.xsk.Send(n)
	s.taken += uint64(taken)
	switch {
	case err == nil:
		return taken, nil
	case err == unix.EBUSY, isRefusal(err):
		s.refused++
		return taken, nil
	}
	return taken, s.sendError(s.template.FrameLen(b.Size), err)
}

func (s *afxdpSender) Mark(flow uint16, payload []byte) error {
	return s.mark(s.template.Datagram(flow, payload))
}

// Window tells the send buffer.
func (s *afxdpSender) Window() (int, error) { return sendBuffer(s.xsk.FD()) }

func (s *afxdpSender) Drain(ctx context.Context) (Completed, error) {
	for {
		pending := s.xsk.Pending()
		done := Completed{Packets: s.taken - uint64(pending), Refused: s.refused}
		if pending == 0 {
			return done, nil
		}
		if err := ctx.Err(); err != nil {
			return done, fmt.Errorf("path afxdp: %d frames are still queued on %s: %w", pending, s.iface, err)
		}
		time.Sleep(drainPause)
	}
}

func (s *afxdpSender) Close() error {
	return errors.Join(s.xsk.Close(), s.close())
}
