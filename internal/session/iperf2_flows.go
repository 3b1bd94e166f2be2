package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"linerate/gen"
	"linerate/gen/frame"
	"linerate/internal/iperf2"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/result"
)

// dialIPerf2 opens a socket per flow: a kernel path sends by it, and the server
// answers to it whatever the path. Those that are open come back with an error,
// too.
func dialIPerf2(ctx context.Context, p *plan.Send) (flows []*net.UDPConn, err error) {
	h := &p.Config.Template.Headers
	device := ""
	if p.Config.BindDevice || h.Dst.IsMulticast() {
		device = p.Config.Interface
	}
	for i := range p.Schedule.Flows {
		from, to := h.Ports(uint16(i))
		d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return linux.BindToDevice(c, device) }}
		if h.Src.IsValid() {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Src, from))
		}
		c, err := d.DialContext(ctx, "udp", netip.AddrPortFrom(h.Dst, to).String())
		if err != nil {
			return flows, &plan.PeerError{Err: fmt.Errorf("a flow to the server: %w", err)}
		}
		flows = append(flows, c.(*net.UDPConn))
		if err := mark(flows[i], h); err != nil {
			return flows, err
		}
	}
	if p.Path.Family == gen.Kernel {
		p.Config.Sockets = flows
	}
	return flows, nil
}

// mark has what a socket sends look like what a path sends.
func mark(c *net.UDPConn, h *frame.Headers) error {
	if h.Dst.Unmap().Is4() {
		p := ipv4.NewPacketConn(c)
		return errors.Join(p.SetTOS(int(h.TOS)), p.SetTTL(int(h.TTL)), p.SetMulticastTTL(int(h.TTL)))
	}
	p := ipv6.NewPacketConn(c)
	return errors.Join(p.SetTrafficClass(int(h.TOS)), p.SetHopLimit(int(h.TTL)), p.SetMulticastHopLimit(int(h.TTL)))
}

// announce sends the first datagram of each flow, with the header; seq is its
// number, from 0, or math.MaxUint64 for the one before it, which does not count.
func (t *iperf2UDP) announce(flows []*net.UDPConn, p *plan.Send, seq uint64) error {
	size := max(p.Schedule.Sizes[0], iperf2.SmallestHeader)
	if t.settings.Start != 0 {
		size = max(size, iperf2.SmallestTimes)
	}
	b := make([]byte, size)
	probe.IPerf2.Init(b)
	t.settings.PutUDP(b)
	for i, c := range flows {
		if i > 0 {
			time.Sleep(betweenFlows)
		}
		p.Config.Template.Stamper.Put(b, uint16(i), seq, linux.Monotonic())
		if _, err := c.Write(b); err != nil {
			return &plan.PeerError{Err: fmt.Errorf("announce the test: %w", err)}
		}
	}
	if len(flows) > 1 {
		time.Sleep(afterFlows)
	}
	return nil
}

// together is what several flows received.
func together(flows []*result.Receiver) *result.Receiver {
	if len(flows) == 1 {
		return flows[0]
	}
	var jitter int64
	var late uint64
	sum := &result.Receiver{ArrivedPackets: &result.ArrivedPackets{JitterNS: &jitter, OutOfOrder: &late}}
	for i, f := range flows {
		sum.PayloadBytes += f.PayloadBytes
		sum.Seconds = max(sum.Seconds, f.Seconds)
		sum.Packets += f.Packets
		sum.Unique += f.Unique
		sum.Lost += f.Lost
		sum.LossIsLowerBound = sum.LossIsLowerBound || f.LossIsLowerBound
		sum.Duplicates += f.Duplicates
		late += *f.OutOfOrder
		jitter += *f.JitterNS / int64(len(flows))
		number := uint16(i)
		f.Flow = &number
		sum.Flows = append(sum.Flows, *f)
	}
	if sent := sum.Unique + sum.Lost; sent > 0 {
		ratio := float64(sum.Lost) / float64(sent)
		sum.LossRatio = &ratio
	}
	return sum
}
