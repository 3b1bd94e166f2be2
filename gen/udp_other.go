//go:build !linux

package gen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A udpSender sends datagrams one by one, each flow from a connected socket of
// its own. Here the system waits where its buffers are full, and may fragment
// what does not fit the path.
type udpSender struct {
	template    *frame.Template
	flows       []*net.UDPConn // nil for the flows of other workers
	borrowed    bool           // the flows are the caller's, who closes them
	payload     []byte
	taken       uint64
	refused     uint64
	unreachable uint64
}

func probeUDP(*Config) error { return nil }

func openUDP(cfg *Config) (Sender, error) {
	t := cfg.Template
	s := &udpSender{template: t, payload: make([]byte, slices.Max(t.Sizes))}
	t.FillPayload(s.payload)
	if cfg.Sockets != nil {
		s.flows, s.borrowed = cfg.Sockets, true
		for _, c := range s.flows {
			if err := setUpFlow(c, cfg); err != nil {
				return nil, fmt.Errorf("path udp: %w", err)
			}
		}
		return s, nil
	}
	for flow := range t.Flows {
		if !cfg.has(flow) {
			s.flows = append(s.flows, nil)
			continue
		}
		c, err := openFlow(cfg, flow)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("path udp: %w", err)
		}
		s.flows = append(s.flows, c)
	}
	return s, nil
}

func openFlow(cfg *Config, flow int) (*net.UDPConn, error) {
	h := &cfg.Template.Headers
	src, dst := h.Addrs(uint16(flow))
	srcPort, dstPort := h.Ports(uint16(flow))
	from := &net.UDPAddr{IP: src.AsSlice(), Zone: src.Zone()}
	if h.SrcPort != 0 {
		from.Port = int(srcPort)
	}
	to := &net.UDPAddr{IP: dst.AsSlice(), Zone: dst.Zone(), Port: int(dstPort)}
	c, err := net.DialUDP("udp", from, to)
	if err != nil {
		return nil, err
	}
	if err := setUpFlow(c, cfg); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// setUpFlow leaves alone what the system does by itself, as not every system
// can be told.
func setUpFlow(c *net.UDPConn, cfg *Config) error {
	h := &cfg.Template.Headers
	if cfg.BindDevice {
		return fmt.Errorf("bind to interface %s on %s: %w (--iface)", cfg.Interface, runtime.GOOS, errors.ErrUnsupported)
	}
	if cfg.Window != 0 {
		if err := c.SetWriteBuffer(cfg.Window); err != nil {
			return fmt.Errorf("set the send buffer to %d: %w (--window)", cfg.Window, err)
		}
	}
	setTOS, setTTL := ipv6.NewConn(c).SetTrafficClass, ipv6.NewConn(c).SetHopLimit
	if h.Dst.Unmap().Is4() {
		setTOS, setTTL = ipv4.NewConn(c).SetTOS, ipv4.NewConn(c).SetTTL
	}
	if h.TOS != 0 {
		if err := setTOS(int(h.TOS)); err != nil {
			return fmt.Errorf("set the traffic class to %d: %w (--dscp)", h.TOS, err)
		}
	}
	if h.TTL != 0 {
		if err := setTTL(int(h.TTL)); err != nil {
			return fmt.Errorf("set the TTL to %d: %w (--ttl)", h.TTL, err)
		}
	}
	return nil
}

func (s *udpSender) Send(b pace.Burst) (int, error) {
	payload := s.payload[:b.Size]
	now := linux.Monotonic()
	for i := range b.N {
		s.template.StampPayload(payload, b.Flow, b.First+uint64(i), now)
		if err := s.write(b.Flow, payload); errors.Is(err, syscall.ENOBUFS) {
			s.refused++
			return i, nil
		} else if err != nil {
			return i, fmt.Errorf("path udp: %w", err)
		}
		s.taken++
	}
	return b.N, nil
}

// write sends a datagram. A refused connection is what became of an earlier one.
func (s *udpSender) write(flow uint16, payload []byte) error {
	for {
		_, err := s.flows[flow].Write(payload)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		s.unreachable++
	}
}

func (s *udpSender) Mark(flow uint16, payload []byte) error {
	if err := s.write(flow, payload); err != nil {
		return fmt.Errorf("path udp: end marker: %w", err)
	}
	return nil
}

// Drain can't tell what is still queued.
func (s *udpSender) Drain(context.Context) (Completed, error) {
	return Completed{Packets: s.taken, Refused: s.refused, Unreachable: s.unreachable}, nil
}

func (s *udpSender) Close() error {
	if s.borrowed {
		return nil
	}
	var errs []error
	for _, c := range s.flows {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	s.flows = nil
	return errors.Join(errs...)
}
