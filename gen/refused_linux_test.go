package gen

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"linerate/gen/pace"
)

// shape puts a token bucket on a's end: 1 Mbit/s, and a queue of so many bytes.
func (l *lab) shape(limit uint32) {
	const bytesPerSecond, burst = 1_000_000 / 8, 20_000
	l.check(l.onA.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.a.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       bytesPerSecond,
		Limit:      limit,
		Buffer:     netlink.Xmittime(bytesPerSecond, burst),
	}))
	l.waitUp()
}

// accepted is how many frames of a payload size over IPv4 the qdisc has taken so
// far, sent on or waiting, and how often it dropped one. Of super-frames it counts
// every frame's bytes, but not the frames.
func (l *lab) accepted(size int) (taken, drops int) {
	qdiscs, err := l.onA.QdiscList(l.a)
	l.check(err)
	st := qdiscs[0].Attrs().Statistics
	return (int(st.Basic.Bytes) + int(st.Queue.Backlog)) / (42 + size), int(st.Queue.Drops)
}

// quiet stops what the kernel sends by itself.
func (l *lab) quiet() {
	off := func() { l.check(os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)) }
	off()
	l.inB(off)
}

// TestRefused offers ten times what a shaped interface takes (BC-092). What the path
// says it sent is what the queue took and, in the end, what arrives.
func TestRefused(t *testing.T) {
	for _, p := range variants() {
		if p.Unqueued {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.quiet()
			l.sink(testAddr4[1])
			l.shape(30_000)
			r := l.reader()
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 1000))
			if p.Family == Kernel {
				cfg.Window = 10_000 // it fills up before the queue of the interface does
			}
			s := l.open(p, cfg)
			takenBefore, dropsBefore := l.accepted(1000)
			sent, refusals := 0, 0
			for end := time.Now().Add(150 * time.Millisecond); time.Now().Before(end); {
				time.Sleep(2 * time.Millisecond)
				n, err := s.Send(pace.Burst{First: uint64(sent), N: 10, Size: 1000})
				l.check(err)
				sent += n
				if n < 10 {
					refusals++
				}
			}
			taken, drops := l.accepted(1000)
			taken, drops = taken-takenBefore, drops-dropsBefore
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			early, err := s.Drain(cancelled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Drain with a queue behind it: %+v, %v", early, err)
			}
			if sent < 20 || sent != taken {
				t.Errorf("sent %d, but the queue took %d", sent, taken)
			}
			if strings.HasPrefix(p.Name, "ring") && (early.Packets == 0 || early.Packets >= uint64(sent)) {
				t.Errorf("left before the end: %d of %d", early.Packets, sent)
			}
			done, err := s.Drain(t.Context())
			l.check(err)
			if done.Packets != uint64(sent) || done.Unreachable != 0 {
				t.Errorf("Drain = %+v after %d packets", done, sent)
			}
			if refusals < 10 || done.Refused < uint64(refusals) {
				t.Errorf("%d refused, after %d short counts", done.Refused, refusals)
			}
			if p.Family == Raw && done.Refused != uint64(drops) {
				t.Errorf("%d refused, but the queue dropped %d", done.Refused, drops)
			}
			e := newExpect(cfg.Template, l)
			if n := e.receive(r, pace.Burst{N: sent, Size: 1000}, sent); n != 0 {
				t.Errorf("%d strangers", n)
			}
		})
	}
}

// TestBypass walks past the shaper that would refuse most of it.
func TestBypass(t *testing.T) {
	for _, p := range variants() {
		if p.Family != Raw {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.quiet()
			l.shape(30_000)
			r := l.reader()
			cfg := l.config(l.template(p.Family, testAddr4, 1, nil, 1000))
			cfg.Bypass, cfg.NoGSO = true, true
			newExpect(cfg.Template, l).send(l.open(p, cfg), r, 1000, 1000)
		})
	}
}

// TestRingFull fills a ring whose frames wait in the queue of the interface.
func TestRingFull(t *testing.T) {
	l := newLab(t)
	l.quiet()
	l.shape(64 << 20)
	cfg := l.config(l.template(Raw, testAddr4, 1, nil, 8972))
	cfg.Window, cfg.NoGSO = 256<<20, true // a frame a packet
	p := findPath(t, "ring")
	s := l.open(p, cfg)
	slots := s.(*ringSender).ring.Len()
	sent := 0
	for {
		n, err := s.Send(pace.Burst{First: uint64(sent), N: 64, Size: 8972})
		l.check(err)
		if sent += n; n == 0 {
			break
		}
	}
	if sent < slots || sent > slots+5 { // a burst's worth leaves at once
		t.Errorf("a ring of %d slots took %d frames", slots, sent)
	}
	if taken, _ := l.accepted(8972); taken != sent {
		t.Errorf("sent %d, but the queue took %d", sent, taken)
	}
}
