package gen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/gen/pace"
	"linerate/internal/probe"
)

// TestAFXDPDriverFull sends to a device whose queue nobody empties, until its
// driver drops: what the path says it sent is what the device holds.
func TestAFXDPDriverFull(t *testing.T) {
	const room, refusals, rounds = 200, 5, 3
	l := newLab(t)
	l.quiet()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "tap0"
	tap := &netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI, Queues: 1, NonPersist: true}
	l.check(netlink.LinkAdd(tap))
	t.Cleanup(func() { tap.Fds[0].Close() })
	link := must(l.onA.LinkByName("tap0"))
	l.check(l.onA.LinkSetTxQLen(link, room))
	l.check(l.onA.LinkSetMTU(link, testMTU))
	l.check(l.onA.LinkSetUp(link))
	fd := int(tap.Fds[0].Fd())
	l.check(unix.SetNonblock(fd, true))
	buf := make([]byte, 1<<16)

	for _, size := range []int{18, 8972} {
		cfg := l.config(l.template(Raw, testAddr4, 1, nil, size))
		cfg.Interface, cfg.IfIndex = "tap0", link.Attrs().Index
		s := l.open(findPath(t, "afxdp"), cfg)
		for round := range rounds {
			sent := 0
			for refused := 0; refused < refusals; {
				n, err := s.Send(pace.Burst{First: uint64(sent), N: 50, Size: size})
				l.check(err)
				if sent += n; n < 50 {
					refused++
				}
			}
			if sent != room {
				t.Errorf("size %d: sent %d to a queue of %d", size, sent, room)
			}
			for seq := range uint64(sent) {
				n, err := unix.Read(fd, buf)
				l.check(err)
				_, payload, _ := parse(buf[:n])
				if h, kind := probe.Native.Parse(payload); kind != probe.Data || h.Seq != seq || n != cfg.Template.FrameLen(size) {
					t.Fatalf("size %d: %d bytes with probe %+v, want number %d", size, n, h, seq)
				}
			}
			if _, err := unix.Read(fd, buf); err != unix.EAGAIN {
				t.Errorf("size %d: more than %d arrived: %v", size, sent, err)
			}
			done, err := s.Drain(t.Context())
			if want := (Completed{Packets: uint64(room * (round + 1)), Refused: uint64(refusals * (round + 1))}); err != nil || done != want {
				t.Errorf("size %d: Drain = %+v, %v, want %+v", size, done, err, want)
			}
		}
		l.check(s.Close())
	}
}

// TestAFXDPBehindQueue sends by a device that hands frames to a shaped one: they
// are sent once the queue took them, and have left only when it let them go.
func TestAFXDPBehindQueue(t *testing.T) {
	for _, size := range []int{1000, 8000} {
		l := newLab(t)
		l.quiet()
		l.shape(60_000)
		r := l.reader()
		cfg := l.config(l.template(Raw, testAddr4, 1, nil, size))
		l.stack(cfg)
		s := l.open(findPath(t, "afxdp"), cfg)
		takenBefore, dropsBefore := l.accepted(size)
		sent := 0
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			n, err := s.Send(pace.Burst{First: uint64(sent), N: 10, Size: size})
			l.check(err)
			sent += n
		}
		taken, drops := l.accepted(size)
		if taken -= takenBefore; sent == 0 || sent != taken {
			t.Errorf("sent %d, but the queue took %d", sent, taken)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		early, err := s.Drain(cancelled)
		if !errors.Is(err, context.Canceled) || early.Packets >= uint64(sent) {
			t.Errorf("Drain with a queue behind it: %+v of %d, %v", early, sent, err)
		}
		done, err := s.Drain(t.Context())
		if want := (Completed{Packets: uint64(sent), Refused: uint64(drops - dropsBefore)}); err != nil || done != want || done.Refused == 0 {
			t.Errorf("Drain = %+v, %v, want %+v", done, err, want)
		}
		newExpect(cfg.Template, l).receive(r, pace.Burst{N: sent, Size: size}, sent)
	}
}

// stack puts a device upon a, which hands its frames to a's queue, and lets cfg
// send by it.
func (l *lab) stack(cfg *Config) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = "m", l.a.Attrs().Index
	l.check(l.onA.LinkAdd(&netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}))
	link := must(l.onA.LinkByName("m"))
	l.check(l.onA.LinkSetUp(link))
	cfg.Interface, cfg.IfIndex = "m", link.Attrs().Index
}

// TestAFXDPUmemFull sends to a queue that lets go no more than a burst, until every
// slot is under way: the path refuses then, and says how many frames it waits for.
// Once the queue goes on, each frame arrives, and the path sends again.
func TestAFXDPUmemFull(t *testing.T) {
	const (
		refusals = 3
		held     = 3000 // bytes a second: few frames more; tbf knows no burst beyond 4.29 s
		open     = 1e9
	)
	for _, size := range []int{1000, 8000} {
		l := newLab(t)
		l.quiet()
		queue := func(bytesPerSecond uint64) *netlink.Tbf {
			return &netlink.Tbf{
				QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.a.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
				Rate:       bytesPerSecond,
				Limit:      64 << 20,
				Buffer:     netlink.Xmittime(bytesPerSecond, 10_000),
			}
		}
		l.check(l.onA.QdiscAdd(queue(held)))
		l.waitUp()
		r := l.reader()
		cfg := l.config(l.template(Raw, testAddr4, 1, nil, size))
		l.stack(cfg)
		cfg.Window = 256 << 20 // so that the slots run out first
		s := l.open(findPath(t, "afxdp"), cfg)
		slots := s.(*afxdpSender).xsk.Len()

		sent := 0
		for refused := 0; refused < refusals; {
			n, err := s.Send(pace.Burst{First: uint64(sent), N: cfg.Batch, Size: size})
			l.check(err)
			if sent += n; n == 0 {
				refused++
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		early, err := s.Drain(cancelled)
		if want := (Completed{Packets: uint64(sent - slots), Refused: refusals}); early != want {
			t.Errorf("size %d: Drain of a full umem = %+v, want %+v", size, early, want)
		}
		if want := fmt.Sprintf("path afxdp: %d frames are still queued on m: context canceled", slots); err == nil || err.Error() != want {
			t.Errorf("size %d: got %v\nwant %s", size, err, want)
		}

		l.check(l.onA.QdiscChange(queue(open)))
		other := must(net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(testAddr4[1], testDstPort+1))))
		must(other.Write(nil)) // at which the queue looks at its new rate
		l.check(other.Close())
		done, err := s.Drain(t.Context())
		if want := (Completed{Packets: uint64(sent), Refused: refusals}); err != nil || done != want {
			t.Errorf("size %d: Drain = %+v, %v, want %+v", size, done, err, want)
		}
		e := newExpect(cfg.Template, l)
		b := pace.Burst{N: sent, Size: size}
		e.receive(r, b, sent)
		b.First, b.N = uint64(sent), 1
		if n, err := s.Send(b); n != 1 || err != nil {
			t.Errorf("size %d: Send after that = %d, %v", size, n, err)
		}
	}
}

// TestAFXDPQueueTaken says who is in the way.
func TestAFXDPQueueTaken(t *testing.T) {
	l := newLab(t)
	p := findPath(t, "afxdp")
	l.open(p, l.config(l.template(Raw, testAddr4, 1, nil, 18)))
	const want = "path afxdp: AF_XDP: bind to queue 0: device or resource busy (another AF_XDP socket has it)"
	if err := p.Probe(l.config(nil)); !errors.Is(err, unix.EBUSY) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
