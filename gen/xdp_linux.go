package gen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/gen/frame"
	"linerate/gen/pace"
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
	n, err := s.transmit(shortestFrame, 0, 0, 1)
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
	return s.transmit(length, uint64(^binary.NativeEndian.Uint16(checksum)), b.First, b.N)
}

// transmit sends n copies of the frame, of that length, with the numbers from
// first; sum is that of the words under its UDP checksum.
func (s *xdpSender) transmit(length int, sum, first uint64, n int) (int, error) {
	if err := s.transmitter.Begin(s.buf, first, sum); err != nil {
		return 0, err
	}
	for sent := 0; ; {
		errRun := s.run.Run(length, n-sent)
		next, refusal, err := s.transmitter.Next()
		if err != nil {
			return sent, err
		}
		s.taken += next - first - uint64(sent)
		sent = int(next - first)
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

// xdpBursts spreads the 25 µs that it takes to begin a run over enough frames. At
// top speed a run of 4096 takes a millisecond, which is how long a stop can take.
func xdpBursts(pps float64) int {
	const most, alone = 4096, 20_000
	switch {
	case pps == 0:
		return most
	case pps < alone:
		return 1
	}
	return min(int(pps*256e-6), most)
}
