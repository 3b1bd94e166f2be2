package gen

import (
	"context"
	"errors"
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
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex = "m", l.a.Attrs().Index
		l.check(l.onA.LinkAdd(&netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}))
		link := must(l.onA.LinkByName("m"))
		l.check(l.onA.LinkSetUp(link))
		r := l.reader()
		cfg := l.config(l.template(Raw, testAddr4, 1, nil, size))
		cfg.Interface, cfg.IfIndex = "m", link.Attrs().Index
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
