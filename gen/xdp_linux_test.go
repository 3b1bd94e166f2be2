package gen

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/linux"
	"linerate/internal/probe"
)

// hearXDP lets b's end take frames that XDP sends.
func (l *lab) hearXDP() {
	l.inB(func() { l.closeAfter(must(bpf.AttachPass(l.b.Attrs().Index))) })
}

// countXDP does so too, counts the probes and takes them off the wire.
func (l *lab) countXDP() (c *bpf.Counter) {
	l.inB(func() {
		filter := bpf.Filter{Port: testDstPort, DataMagic: probe.MagicData, EndMagic: probe.MagicEnd, Drop: true}
		c = must(bpf.AttachCounter(l.b.Attrs().Index, filter))
	})
	l.closeAfter(c)
	return c
}

func (l *lab) closeAfter(c io.Closer) {
	l.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			l.t.Error(err)
		}
	})
}

// TestXDPExact holds what arrives against what was to be sent.
func TestXDPExact(t *testing.T) {
	tagged := uint16(100)
	for _, addr := range [][2]netip.Addr{testAddr4, testAddr6} {
		for _, vlan := range []*uint16{nil, &tagged} {
			t.Run(fmt.Sprintf("%v/vlan=%v", addr[1], vlan != nil), func(t *testing.T) {
				l := newLab(t)
				l.hearXDP()
				l.sink(addr[1])
				r := l.reader()
				r.tags = vlan != nil
				for _, size := range []int{18, 19, 1472, 2954} {
					for _, flows := range []int{1, 64} {
						tpl := l.template(Raw, addr, flows, vlan, size)
						s := l.open(findPath(t, "xdp"), l.config(tpl))
						e := newExpect(tpl, l)
						total := 0
						for _, n := range []int{1, 2, 3, 1000} {
							e.send(s, r, n, size)
							total += n
						}
						if done, err := s.Drain(t.Context()); err != nil || done != (Completed{Packets: uint64(total)}) {
							t.Errorf("Drain = %+v, %v, want %d packets and nothing else", done, err, total)
						}
					}
				}
			})
		}
	}
}

// TestXDPFrames compares whole frames, checksums and all, with those of the
// template's own stamp.
func TestXDPFrames(t *testing.T) {
	for _, format := range []probe.Format{probe.Native, probe.IPerf2, probe.IPerf3, probe.IPerf3Wide} {
		for _, addr := range [][2]netip.Addr{testAddr4, testAddr6} {
			t.Run(fmt.Sprintf("%v/%v", format, addr[1]), func(t *testing.T) {
				l := newLab(t)
				l.hearXDP()
				l.sink(addr[1])
				r := l.reader()
				tpl := l.template(Raw, addr, 3, nil, 18, 547, 1472)
				tpl.Stamper.Format = format
				tpl.Stamper.WallOffset = linux.WallOffset()
				pattern := must(probe.ParsePattern("ramp"))
				tpl = must(frame.New(tpl.Headers, tpl.Stamper, tpl.Sizes, tpl.Flows, pattern))
				s := l.open(findPath(t, "xdp"), l.config(tpl))
				want := make([]byte, tpl.MaxFrameLen())
				// Numbers that carry, in a format's second word too.
				const first = 1<<32 - 20
				for i, size := range []int{18, 1472, 547} {
					flow := uint16(i)
					start := linux.Monotonic()
					n, err := s.Send(pace.Burst{Flow: flow, First: first, N: 40, Size: size})
					end := linux.Monotonic()
					if n != 40 || err != nil {
						t.Fatalf("Send = %d, %v", n, err)
					}
					for seq := uint64(first); seq < first+40; {
						a, ok := r.next()
						if !ok {
							t.Fatalf("no packet %d", seq)
						}
						_, payload, isUDP := parse(a.frame)
						if !isUDP {
							continue
						}
						h, _ := format.Parse(payload)
						mono := h.Sent - tpl.Stamper.WallOffset
						if format == probe.Native {
							mono = h.Sent
						}
						if mono < start-1000 || mono > end {
							t.Fatalf("packet %d was stamped at %d, sent between %d and %d", seq, mono, start, end)
						}
						tpl.Fill(want)
						length := tpl.Stamp(want, flow, seq, size, (mono+999)/1000*1000)
						if format == probe.Native {
							length = tpl.Stamp(want, flow, seq, size, mono)
						}
						if !bytes.Equal(a.frame, want[:length]) {
							t.Fatalf("packet %d:\n%x, want\n%x", seq, a.frame, want[:length])
						}
						seq++
					}
				}
				l.inB(func() {
					for _, counter := range []string{"/proc/thread-self/net/snmp", "/proc/thread-self/net/snmp6"} {
						if n := checksumErrors(string(must(os.ReadFile(counter)))); n != "0" {
							t.Errorf("%s: %s checksum errors", counter, n)
						}
					}
				})
			})
		}
	}
}

// checksumErrors is UDP's InCsumErrors in /proc/net/snmp or snmp6.
func checksumErrors(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case f[0] == "Udp6InCsumErrors":
			return f[1]
		case f[0] == "Udp:" && names == nil:
			names = f
		case f[0] == "Udp:":
			for i := range names {
				if names[i] == "InCsumErrors" {
					return f[i]
				}
			}
		}
	}
	return "no"
}

// TestXDPCount compares what the path says it sent with a count at the peer, at
// full speed.
func TestXDPCount(t *testing.T) {
	l := newLab(t)
	c := l.countXDP()
	const flows = 3
	tpl := l.template(Raw, testAddr4, flows, nil, 18)
	s := l.open(findPath(t, "xdp"), l.config(tpl))
	var total uint64
	for _, count := range []uint64{1, 2, 3, 1000, 65537, 1_000_000} {
		p := pace.NewPacer(pace.Schedule{Sizes: []int{18}, Costs: []uint64{1}, Flows: flows, Burst: 4096, Count: count}, linux.Monotonic())
		l.check(transmit(t.Context(), s, p))
		total += count
		if stats := pace.Finish(p); stats.Packets != count {
			t.Errorf("sent %d packets, want %d", stats.Packets, count)
		}
		if got := must(c.Load()).Data; got != total {
			t.Fatalf("%d packets arrived, want %d", got, total)
		}
	}
	l.check(s.Mark(0, binary.BigEndian.AppendUint16(nil, probe.MagicEnd)))
	if got := must(c.Load()); got.End != 1 {
		t.Errorf("%d end markers, want 1", got.End)
	}
	if done, err := s.Drain(t.Context()); done.Packets != total || err != nil {
		t.Errorf("Drain = %+v, %v, want %d packets", done, err, total)
	}
}

// TestXDPSpaces lets the program space the packets: none leaves before it is due, in
// debt none sooner than 4/5 of a gap after the one before, and all arrive.
func TestXDPSpaces(t *testing.T) {
	l := newLab(t)
	c := l.countXDP()
	tpl := l.template(Raw, testAddr4, 1, nil, 18)
	s := l.open(findPath(t, "xdp"), l.config(tpl))
	var total uint64
	for _, together := range []int{1, 4} {
		const count, gap = 20_001, 10_000 // ns
		start := linux.Monotonic() + int64(time.Millisecond)
		p := pace.NewPacer(pace.Schedule{
			Sizes: []int{18}, Costs: []uint64{1}, MicroRate: 1e9 / gap * 1e6, Flows: 1, Burst: together,
			Span: 40 * time.Millisecond, Count: count,
		}, start)
		l.check(transmit(t.Context(), s, p))
		total += count
		stats := pace.Finish(p)
		if stats.Packets != count || stats.Shortfall != 0 {
			t.Fatalf("%d together: %+v, want %d packets", together, stats, count)
		}
		if got := must(c.Load()).Data; got != total {
			t.Fatalf("%d together: %d packets arrived, want %d", together, got, total)
		}
		r := stats.Cadence
		if r.Gaps.N != total-1 || r.LongestRun != uint64(together) {
			t.Errorf("%d together: %d gaps, %d packets in a row", together, r.Gaps.N, r.LongestRun)
		}
		if end := start + (count-1)/int64(together)*int64(together)*gap; linux.Monotonic() < end {
			t.Errorf("%d together: it ended %d ns early", together, end-linux.Monotonic())
		}
	}
}

// transmit is the work of one worker, on a thread of its own.
func transmit(ctx context.Context, s Sender, p *pace.Pacer) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- (&worker{sender: s, pacer: p, flows: make([]atomic.Uint64, len(pace.SentPerFlow(p)))}).transmit(ctx)
	}()
	return <-done
}

// TestXDPRefused has a peer that is slower than the path: its ring overflows. What
// it refused was not sent, and its numbers go to others: none is missing, and none
// comes twice.
func TestXDPRefused(t *testing.T) {
	l := newLab(t)
	l.quiet()
	l.hearXDP()
	l.sink(testAddr4[1])
	// A thread of its own takes frames up the whole stack of b.
	l.inB(func() { l.threadedNAPI() })
	r := l.reader()
	tpl := l.template(Raw, testAddr4, 1, nil, 18)
	s, e := l.open(findPath(t, "xdp"), l.config(tpl)), newExpect(tpl, l)
	const n = 20_000 // fit the reader's buffer
	sent, short := 0, 0
	for sent < n {
		b := pace.Burst{First: uint64(sent), N: min(4096, n-sent), Size: 18}
		k, err := s.Send(b)
		l.check(err)
		if k < b.N {
			short++
			time.Sleep(100 * time.Microsecond)
		}
		sent += k
	}
	done, err := s.Drain(t.Context())
	l.check(err)
	if done.Packets != n || short == 0 || done.Refused < uint64(short) {
		t.Errorf("Drain = %+v after %d packets and %d short counts", done, n, short)
	}
	time.Sleep(100 * time.Millisecond)
	e.receive(r, pace.Burst{Size: 18}, n)
}

// threadedNAPI gives the receiving end a kernel thread, so that it competes.
func (l *lab) threadedNAPI() {
	dir := l.t.TempDir()
	l.check(unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS))
	l.check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	l.check(unix.Mount("sysfs", dir, "sysfs", 0, ""))
	l.check(os.WriteFile(dir+"/class/net/b/threaded", []byte("1"), 0))
	l.check(unix.Unmount(dir, 0))
}

// TestXDPRefusals refuses what can't be sent, and says what to do.
func TestXDPRefusals(t *testing.T) {
	const cure = "path xdp: a sends no XDP frames now: operation not supported (a veth does while its peer has NAPI: ethtool -K PEER gro on; a physical one may need an XDP program of its own); use --path packet"
	l := newLab(t)
	p := findPath(t, "xdp")
	cfg := l.config(l.template(Raw, testAddr4, 1, nil, 18))
	l.check(p.Probe(cfg))
	before := openFDs(t)
	if err := p.Try(cfg); errorText(err) != cure || !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("trial before a peer without NAPI: %v, want %q", err, cure)
	}
	s := l.open(p, cfg)
	if n, err := s.Send(pace.Burst{N: 100, Size: 18}); n != 0 || errorText(err) != cure {
		t.Errorf("Send = %d, %v, want %q", n, err, cure)
	}
	l.check(s.Close())

	l.hearXDP()
	rx := l.rxPackets()
	l.check(p.Try(cfg))
	if got := l.rxPackets() - rx; got < 1 {
		t.Error("no trial frame arrived")
	}

	cfg.Frame = 9018
	err := p.Probe(cfg)
	var limit int
	if _, errScan := fmt.Sscanf(errorText(err), "path xdp: frames up to %d bytes here, not 9018 (invalid argument); use --path packet", &limit); errScan != nil {
		t.Fatalf("probe of a long frame: %v", err)
	}
	cfg.Frame = limit
	l.check(p.Probe(cfg))
	cfg.Frame++
	if err := p.Probe(cfg); !errors.Is(err, unix.EINVAL) {
		t.Errorf("probe of a frame above the limit of %d: %v", limit, err)
	}
	if s, err := p.Open(l.config(l.template(Raw, testAddr4, 1, nil, 8972))); s != nil || !errors.Is(err, unix.EINVAL) {
		t.Errorf("Open for a long frame = %v, %v", s, err)
	}

	s = l.open(p, l.config(l.template(Raw, testAddr4, 1, nil, 2000)))
	l.check(l.onB.LinkSetMTU(l.b, 1500))
	const stuck = "path xdp: a took no frame of 2042 bytes for 1s (the peer of a veth may have a smaller MTU)"
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		n, err := s.Send(pace.Burst{N: 1, Size: 2000})
		if n != 0 || err != nil && (err.Error() != stuck || time.Since(start) < time.Second) || time.Since(start) > 5*time.Second {
			t.Errorf("Send beyond the peer's MTU = %d, %v after %v", n, err, time.Since(start))
		}
		if n != 0 || err != nil {
			break
		}
	}
	l.check(l.onA.LinkSetMTU(l.a, 1500))
	const tooLong = "path xdp: send on a: message too long (a frame of 2042 bytes does not fit the MTU)"
	if n, err := s.Send(pace.Burst{N: 100, Size: 2000}); n != 0 || errorText(err) != tooLong {
		t.Errorf("Send beyond the MTU = %d, %v, want %q", n, err, tooLong)
	}
	l.check(l.onA.LinkSetDown(l.a))
	if n, err := s.Send(pace.Burst{N: 100, Size: 2000}); n != 0 || !errors.Is(err, unix.ENETDOWN) {
		t.Errorf("Send on an interface that is down = %d, %v", n, err)
	}
	l.check(l.onA.LinkDel(l.a))
	if n, err := s.Send(pace.Burst{N: 100, Size: 2000}); n != 0 || !errors.Is(err, unix.ENODEV) {
		t.Errorf("Send on an interface that is gone = %d, %v", n, err)
	}
	l.check(s.Close())
	l.check(s.Close())
	if after := openFDs(t); after != before+1 { // hearXDP's
		t.Errorf("%d descriptors left open", after-before-1)
	}
}

// TestXDPStop ends a run that would last for hours.
func TestXDPStop(t *testing.T) {
	l := newLab(t)
	c := l.countXDP()
	s := l.open(findPath(t, "xdp"), l.config(l.template(Raw, testAddr4, 1, nil, 18)))
	p := pace.NewPacer(pace.Schedule{Sizes: []int{18}, Costs: []uint64{1}, Flows: 1, Burst: xdpBulk, Count: 1 << 40}, linux.Monotonic())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	l.check(transmit(ctx, s, p))
	// At once on an idle machine; a busy one may be away for longer than a run of 100 ms.
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v to stop", took-100*time.Millisecond)
	}
	if sent, got := pace.Finish(p).Packets, must(c.Load()).Data; got != sent || sent == 0 {
		t.Errorf("%d packets arrived of %d", got, sent)
	}
}

func TestXDPAllocs(t *testing.T) {
	l := newLab(t)
	l.countXDP()
	s := l.open(findPath(t, "xdp"), l.config(l.template(Raw, testAddr4, 1, nil, 100)))
	b := pace.Burst{N: 64, Size: 100}
	allocs := testing.AllocsPerRun(100, func() {
		if n, err := s.Send(b); n != b.N || err != nil {
			t.Errorf("Send = %d, %v", n, err)
		}
		b.First += uint64(b.N)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}
