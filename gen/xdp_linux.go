package gen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/cadence"
	"linerate/internal/linux"
	"linerate/internal/probe"
)

// An xdpSender has the kernel make the frames: a burst is a run of an XDP program
// over copies of one frame (BPF_F_TEST_XDP_LIVE_FRAMES), which numbers and stamps
// each and redirects it to the driver's ndo_xdp_xmit.
//
// A burst's count is what the driver took, as the tracepoint behind it tells. What
// it did not take keeps its number: the next frame that is made has it.
type xdpSender struct {
	marks       *link // for end markers
	template    *frame.Template
	transmitter *bpf.Transmitter
	run         *linux.XDPRun
	buf         []byte // the frame that is copied
	taken       uint64
	refused     uint64
	since       int64 // CLOCK_MONOTONIC ns of the first of the latest runs that sent nothing; 0 for none
}

func openXDP(cfg *Config) (Sender, error) {
	s, err := newXDP(cfg, cfg.Template.HeaderLen(), cfg.Template.Stamper, cfg.Template.MaxFrameLen())
	if err != nil {
		return nil, err
	}
	s.template = cfg.Template
	s.template.Fill(s.buf)
	return s, nil
}

// probeXDP loads the program and runs it on a frame that it drops.
func probeXDP(cfg *Config) error {
	s, err := newXDP(cfg, shortestHeader, probe.Stamper{}, max(cfg.Frame-fcsLen, shortestFrame))
	if err != nil {
		return err
	}
	return s.Close()
}

// trialXDP sends one frame, which is for nobody: it is addressed to the interface
// that it comes from, and of a type for private experiments (IEEE 802, 88-B5).
func trialXDP(cfg *Config) error {
	ifi, err := net.InterfaceByIndex(cfg.IfIndex)
	if err != nil {
		return fmt.Errorf("path xdp: interface %s: %w", cfg.Interface, err)
	}
	s, err := newXDP(cfg, shortestHeader, probe.Stamper{}, shortestFrame)
	if err != nil {
		return err
	}
	copy(s.buf, ifi.HardwareAddr)
	copy(s.buf[6:], ifi.HardwareAddr)
	binary.BigEndian.PutUint16(s.buf[12:], experimental)
	n, err := s.transmit(1, &bpf.Run{Frame: s.buf})
	if err == nil && n == 0 {
		err = fmt.Errorf("path xdp: %s had no room for a trial frame; use --path packet", cfg.Interface)
	}
	return errors.Join(err, s.Close())
}

const (
	shortestHeader = 14 + 20 + udpHeader
	shortestFrame  = 60
	fcsLen         = 4
	experimental   = 0x88b5
)

// newXDP loads the program, and tries it on a frame of so many bytes.
func newXDP(cfg *Config, headerLen int, stamper probe.Stamper, frameLen int) (*xdpSender, error) {
	marks, err := openLink("xdp", cfg)
	if err != nil {
		return nil, err
	}
	s := &xdpSender{marks: marks, buf: make([]byte, frameLen)}
	if err := s.load(cfg, headerLen, stamper); err != nil {
		return nil, errors.Join(fmt.Errorf("path xdp: %w", err), s.Close())
	}
	return s, nil
}

func (s *xdpSender) load(cfg *Config, headerLen int, stamper probe.Stamper) (err error) {
	s.transmitter, err = bpf.NewTransmitter(bpf.XmitConfig{
		IfIndex:    cfg.IfIndex,
		UDP:        headerLen - udpHeader,
		Format:     uint8(stamper.Format),
		WallOffset: stamper.WallOffset,
	})
	if err != nil {
		return err
	}
	s.run = linux.NewXDPRun(s.transmitter.FD(), s.buf, bpf.XmitBatch)
	return s.checkLength(len(s.buf))
}

const (
	udpHeader   = 8
	udpChecksum = 6 // in the header
)

func (s *xdpSender) Send(b pace.Burst) (int, error) {
	length := s.zeroStamp(b)
	checksum := s.buf[s.template.HeaderLen()-udpHeader+udpChecksum:]
	r := bpf.Run{Frame: s.buf[:length], First: b.First, Sum: uint64(^binary.NativeEndian.Uint16(checksum)), Payload: b.Size}
	batch := bpf.XmitBatch
	if b.Span > 0 {
		r.Due, r.Gap = b.At, gapOf(b.Span, b.N)
		batch = min(b.Together, bpf.XmitBatch)
	}
	s.run.Batch(batch)
	return s.transmit(b.N, &r)
}

// gapOf is the gap between n packets of a span, as a run takes it. Each run has its
// own, so that what it is rounded by does not add up.
func gapOf(span time.Duration, n int) uint64 {
	hi, lo := bits.Mul64(uint64(span), 1<<bpf.GapBits)
	gap, _ := bits.Div64(hi, lo, uint64(n)) // a span is below a second
	return gap
}

// transmit sends n copies of a run's frame, which is the front of s.buf.
func (s *xdpSender) transmit(n int, r *bpf.Run) (int, error) {
	length := len(r.Frame)
	if err := s.transmitter.Begin(r); err != nil {
		return 0, err
	}
	for sent := 0; ; {
		errRun := s.make(length, n-sent, r)
		next, refusal, err := s.transmitter.Next()
		if err != nil {
			return sent, err
		}
		s.taken += next - r.First - uint64(sent)
		sent = int(next - r.First)
		s.refused += refusal.Frames
		switch {
		case refusal.Err != 0:
			return sent, s.refusal(length, refusal.Err)
		case refusal.Frames != 0 || sent == n:
			return sent, s.checkStuck(sent, length)
		case errRun != nil && errRun != unix.EINTR: // which the Go runtime's own signals cause
			return sent, fmt.Errorf("path xdp: run the program on a frame of %d bytes: %w", length, errRun)
		}
	}
}

// make has the kernel make n frames.
func (s *xdpSender) make(length, n int, r *bpf.Run) error {
	if r.Gap > 0 {
		return s.run.RunLong(length, n)
	}
	return s.run.Run(length, n)
}

// Late implements Spacer.
func (s *xdpSender) Late() (uint64, error) { return s.transmitter.Late() }

// Departures implements Spacer.
func (s *xdpSender) Departures() (*cadence.Watch, error) { return s.transmitter.Departures() }

// xdpTogether is how many frames have to leave together for a rate: what is flushed
// by itself costs the driver's doorbell, or a veth its peer's softirq, each time.
func xdpTogether(pps float64) int {
	switch {
	case pps <= 1_000_000:
		return 1
	case pps <= 2_000_000:
		return 4
	}
	return bpf.XmitBatch
}

// stuckAfter is how long a driver may take no frame at all: its ring moves in
// microseconds, and no queue is before it.
const stuckAfter = time.Second

// checkStuck refuses to go on where frames are refused for good.
func (s *xdpSender) checkStuck(sent, length int) error {
	now := linux.Monotonic()
	switch {
	case sent > 0:
		s.since = 0
	case s.since == 0:
		s.since = now
	case now-s.since > int64(stuckAfter):
		return fmt.Errorf("path xdp: %s took no frame of %d bytes for %v (the peer of a veth may have a smaller MTU)", s.marks.iface, length, stuckAfter)
	}
	return nil
}

// zeroStamp makes the frame of a burst whose stamps are all zero, and returns its
// length.
func (s *xdpSender) zeroStamp(b pace.Burst) int {
	var seq uint64
	var mono int64
	if stamper := &s.template.Stamper; stamper.Format != probe.Native { // iperf's count from 1, and tell wall time
		seq, mono = ^seq, -stamper.WallOffset
	}
	return s.template.Stamp(s.buf, b.Flow, seq, b.Size, mono)
}

// refusal words why the driver, or the way to it, took no frames.
func (s *xdpSender) refusal(length int, errno unix.Errno) error {
	switch errno {
	case unix.EOPNOTSUPP, unix.ENXIO: // a driver without ndo_xdp_xmit, or that has no queue for it now
		return fmt.Errorf("path xdp: %s sends no XDP frames now: %w (a veth does while its peer has NAPI: ethtool -K PEER gro on; a physical one may need an XDP program of its own); use --path packet", s.marks.iface, errno)
	}
	return s.marks.sendError(length, errno)
}

// checkLength refuses frames that are longer than the kernel makes: what fits one
// page beside its own bookkeeping.
func (s *xdpSender) checkLength(length int) error {
	fits := func(n int) error {
		if err := s.transmitter.BeginNothing(); err != nil {
			return err
		}
		return s.run.Run(n, 1)
	}
	err := fits(length)
	if err == nil || err == unix.EINTR {
		return nil
	}
	if errShort := fits(shortestFrame); errShort != nil {
		return fmt.Errorf("run a program over live frames (Linux 5.18): %w", errShort)
	}
	low, high := shortestFrame, length
	for high-low > 1 {
		if mid := (low + high) / 2; fits(mid) == nil {
			low = mid
		} else {
			high = mid
		}
	}
	return fmt.Errorf("frames up to %d bytes here, not %d (%w); use --path packet", low+fcsLen, length+fcsLen, err)
}

func (s *xdpSender) Mark(flow uint16, payload []byte) error {
	return s.marks.mark(s.template.Datagram(flow, payload))
}

func (s *xdpSender) Drain(context.Context) (Completed, error) {
	return Completed{Packets: s.taken, Refused: s.refused}, nil
}

func (s *xdpSender) Close() error {
	err := s.marks.close()
	if s.run != nil {
		s.run.Close()
	}
	if s.transmitter != nil {
		err = errors.Join(err, s.transmitter.Close())
	}
	s.run, s.transmitter = nil, nil
	return err
}

// xdpBulk spreads the 25 µs that it takes to begin a run over enough frames. A run of
// so many takes a millisecond, which is how long a stop can take.
const xdpBulk = 4096
