package gen

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A udpSender sends datagrams by sendmmsg, each flow from a connected socket of
// its own. Path gso is the same with several datagrams a message.
type udpSender struct {
	segments
	path        string
	iface       string
	template    *frame.Template
	batch       *linux.MMsg
	flows       []int // sockets; -1 for the flows of other workers
	window      int   // bytes
	taken       uint64
	refused     uint64
	unreachable uint64
}

func probeUDP(*Config) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("path udp: socket: %w", err)
	}
	return unix.Close(fd)
}

func openUDP(cfg *Config) (Sender, error) {
	return newUDPSender("udp", cfg, newSegments(false))
}

func newUDPSender(path string, cfg *Config, together segments) (Sender, error) {
	s := &udpSender{path: path, iface: cfg.Interface, template: cfg.Template, segments: together}
	if err := s.open(cfg); err != nil {
		return nil, fmt.Errorf("path %s: %w", path, errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *udpSender) open(cfg *Config) error {
	t := s.template
	own := -1
	for flow := range t.Flows {
		if !cfg.has(flow) {
			s.flows = append(s.flows, -1)
			continue
		}
		fd, err := openFlow(cfg, flow)
		if errors.Is(err, unix.EMFILE) {
			return fmt.Errorf("%d flows need a socket each: %w (ulimit -n)", t.Flows, err)
		}
		if err != nil {
			return err
		}
		s.flows = append(s.flows, fd)
		own = fd
	}
	var err error
	if s.window, err = sendBuffer(own); err != nil {
		return err
	}
	if s.batch, err = linux.NewMMsg(batchLen(cfg), slices.Max(t.Sizes)); err != nil {
		return err
	}
	for i := range s.batch.Len() {
		t.FillPayload(s.batch.Slot(i))
	}
	return nil
}

func (s *udpSender) Send(b pace.Burst) (int, error) {
	n := min(b.N, s.batch.Len())
	now := linux.Monotonic()
	for i := range n {
		s.template.StampPayload(s.batch.Slot(i), b.Flow, b.First+uint64(i), now)
		s.batch.SetPart(i, 0, b.Size)
	}
	fd := s.flows[b.Flow]
	per := s.per(b.Size)
	o := offer(s.batch, fd, s.batch.Gather(0, n, per, b.Size))
	sent := min(o.sent*per, n)
	s.note(min(sent, per))
	s.taken += uint64(sent)
	s.refused += o.refused
	s.unreachable += o.stale
	if o.silent > 0 {
		s.explain(fd, o.silent)
	}
	if s.fewer(o.err, per) {
		more, err := s.Send(rest(b, sent))
		return sent + more, err
	}
	if o.err != nil {
		return sent, sendError(s.path, s.iface, "payload", b.Size, o.err)
	}
	return sent, nil
}

// explain counts stops that the kernel gave no reason for. They were ICMP errors
// unless the send buffer can have been full.
func (s *udpSender) explain(fd int, stops uint64) {
	if n, err := queued(fd); err == nil && n < s.window/2 {
		s.unreachable += stops
	} else {
		s.refused += stops
	}
}

func (s *udpSender) Mark(flow uint16, payload []byte) error {
	if err := write(s.flows[flow], payload); err != nil {
		return sendError(s.path, s.iface, "payload", len(payload), err)
	}
	return nil
}

// Drain waits until the sockets' packets have left this host. What a queue of
// its own drops on the way it counts as sent: the kernel took it, and doesn't
// say.
func (s *udpSender) Drain(ctx context.Context) (Completed, error) {
	done := Completed{Packets: s.taken, Refused: s.refused, Unreachable: s.unreachable}
	for _, fd := range s.flows {
		if fd < 0 {
			continue
		}
		if err := waitEmpty(ctx, fd); err != nil {
			return done, fmt.Errorf("path %s: %w", s.path, err)
		}
	}
	return done, nil
}

// Window tells the send buffer of each socket.
func (s *udpSender) Window() (int, error) { return s.window, nil }

func (s *udpSender) Close() error {
	var errs []error
	for _, fd := range s.flows {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	if s.batch != nil {
		errs = append(errs, s.batch.Close())
	}
	s.flows, s.batch = nil, nil
	return errors.Join(errs...)
}
