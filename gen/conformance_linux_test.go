package gen

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"linerate/gen/frame"
	"linerate/gen/pace"
	"linerate/internal/probe"
)

// TestExact sends through each path, and holds what arrives against what was to
// be sent: every packet once and in order (BC-015), its headers, its checksums and
// every byte of it (BC-037).
func TestExact(t *testing.T) {
	for _, p := range variants() {
		for _, addr := range [][2]netip.Addr{testAddr4, testAddr6} {
			t.Run(fmt.Sprintf("%s/%v", p.Name, addr[1]), func(t *testing.T) {
				l := newLab(t)
				l.sink(addr[1])
				r := l.reader()
				least, most := 18, 8972
				if addr[1].Is6() {
					most = 8952
				}
				for _, size := range []int{least, 1472, most} {
					for _, flows := range []int{1, 64} {
						tpl := l.template(p.Family, addr, flows, nil, size)
						s, err := p.Open(l.config(tpl))
						l.check(err)
						e := newExpect(tpl, l)
						counts := []int{1, 2, 3, 1000}
						if size == least && addr[1].Is4() == (flows == 1) { // enough, and half the time
							counts = append(counts, 65537)
						}
						total := 0
						for _, n := range counts {
							e.send(s, r, n, size)
							total += n
						}
						if done, err := s.Drain(t.Context()); err != nil || done != (Completed{Packets: uint64(total)}) {
							t.Errorf("Drain = %+v, %v, want %d packets and nothing else", done, err, total)
						}
						l.check(s.Close())
					}
				}
			})
		}
	}
}

func TestVLAN(t *testing.T) {
	for _, p := range variants() {
		if p.Family != Raw {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			r := l.reader()
			r.tags = true
			for _, addr := range [][2]netip.Addr{testAddr4, testAddr6} {
				vlan := uint16(100)
				most := 8972
				if addr[1].Is6() {
					most = 8952
				}
				for _, size := range []int{18, most} { // the largest also has a tag beyond the MTU
					tpl := l.template(p.Family, addr, 2, &vlan, size)
					s, err := p.Open(l.config(tpl))
					l.check(err)
					newExpect(tpl, l).send(s, r, 100, size)
					l.check(s.Close())
				}
			}
		})
	}
}

// TestSizeMix alternates the sizes of bursts: each has the lengths and the checksum
// of its own (BC-037).
func TestSizeMix(t *testing.T) {
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.sink(testAddr4[1])
			r := l.reader()
			sizes := []int{1472, 18, 547, 8972, 19}
			tpl := l.template(p.Family, testAddr4, 3, nil, sizes...)
			s, e := l.open(p, l.config(tpl)), newExpect(tpl, l)
			for round := range 20 {
				e.send(s, r, 1+round%7, sizes[round%len(sizes)])
			}
		})
	}
}

// TestLargest sends what an interface of the largest MTU takes.
func TestLargest(t *testing.T) {
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.check(l.onA.LinkSetMTU(l.a, 65535))
			l.check(l.onB.LinkSetMTU(l.b, 65535))
			l.sink(testAddr4[1])
			r := l.reader()
			tpl := l.template(p.Family, testAddr4, 1, nil, 65507)
			newExpect(tpl, l).send(l.open(p, l.config(tpl)), r, 200, 65507)
		})
	}
}

// TestSlowReader reads when everything has been sent, long after the memory of
// the first frames was used again: what the kernel took it has taken whole.
func TestSlowReader(t *testing.T) {
	const n = 2000
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.sink(testAddr4[1])
			r := l.reader()
			tpl := l.template(p.Family, testAddr4, 1, nil, 8972)
			s := l.open(p, l.config(tpl))
			for sent := 0; sent < n; {
				k, err := s.Send(pace.Burst{First: uint64(sent), N: min(50, n-sent), Size: 8972})
				l.check(err)
				sent += k
			}
			newExpect(tpl, l).receive(r, pace.Burst{Size: 8972}, n)
		})
	}
}

// An expect knows what should arrive.
type expect struct {
	l    *lab
	tpl  *frame.Template
	next []uint64 // per flow
	want []byte   // payload
}

func newExpect(tpl *frame.Template, l *lab) *expect {
	return &expect{l: l, tpl: tpl, next: make([]uint64, tpl.Flows), want: make([]byte, 1<<16)}
}

// send transmits n packets, a burst on each flow in turn, and reads them back.
func (e *expect) send(s Sender, r *reader, n, size int) {
	t := e.l.t
	t.Helper()
	var before uint64
	for now := e.l.rxPackets(); before != now; now = e.l.rxPackets() {
		before = now
		e.receive(r, pace.Burst{}, 0)
	}
	sent, strangers, flow := 0, 0, 0
	for deadline := time.Now().Add(20 * time.Second); sent < n; flow = (flow + 1) % e.tpl.Flows {
		b := pace.Burst{Flow: uint16(flow), First: e.next[flow], N: min(n-sent, 50), Size: size}
		k, err := s.Send(b)
		if err != nil {
			t.Fatal(err)
		}
		sent += k
		strangers += e.receive(r, b, k)
		if time.Now().After(deadline) {
			t.Fatalf("sent %d of %d packets in 20 s", sent, n)
		}
	}
	// What else arrives meanwhile is the kernel's (MLD), and is no error.
	for end := time.Now().Add(time.Second); ; {
		strangers += e.receive(r, pace.Burst{}, 0)
		if got := int(e.l.rxPackets()-before) - strangers; got == n {
			return
		} else if time.Now().After(end) {
			t.Fatalf("b's interface counted %d packets, want %d", got, n)
		}
	}
}

// receive reads the first k packets of a burst, and returns how many others came.
func (e *expect) receive(r *reader, b pace.Burst, k int) (strangers int) {
	t := e.l.t
	t.Helper()
	h := &e.tpl.Headers
	want := headers{
		src: netip.AddrPortFrom(h.Src, h.SrcPort+b.Flow), dst: netip.AddrPortFrom(h.Dst, h.DstPort),
		tos: h.TOS, ttl: h.TTL, df: h.Dst.Is4(),
	}
	for arrived := 0; ; arrived++ {
		a, ok := r.next()
		if !ok && arrived == k {
			return strangers
		}
		got, payload, isUDP := parse(a.frame)
		if ok && (!isUDP || got.dst.Port() != testDstPort) {
			strangers++
			arrived--
			continue
		}
		if !ok || arrived == k {
			t.Fatalf("%d of %d packets of a burst arrived, and more: %v", arrived, k, ok)
		}
		if err := checksums(a.frame); err != nil {
			t.Fatalf("packet %d: %v", e.next[b.Flow], err)
		}
		if got != want {
			t.Fatalf("headers %+v, want %+v", got, want)
		}
		if (a.vlan == nil) != (h.VLAN == nil) || a.vlan != nil && *a.vlan != *h.VLAN {
			t.Fatalf("VLAN %v, want %v", a.vlan, h.VLAN)
		}
		header, kind := probe.Native.Parse(payload)
		if wantHeader := (probe.Header{Run: testRun, Flow: b.Flow, Seq: e.next[b.Flow], Sent: header.Sent}); kind != probe.Data || header != wantHeader {
			t.Fatalf("probe %+v of kind %v, want %+v", header, kind, wantHeader)
		}
		e.tpl.FillPayload(e.want)
		e.tpl.StampPayload(e.want, b.Flow, header.Seq, header.Sent)
		if !bytes.Equal(payload, e.want[:b.Size]) {
			t.Fatalf("flow %d packet %d: %d payload bytes are not the ones sent", b.Flow, header.Seq, len(payload))
		}
		e.next[b.Flow]++
	}
}

func TestMark(t *testing.T) {
	marker := bytes.Repeat([]byte("end marker "), 100) // longer than the test's frames
	for _, p := range variants() {
		t.Run(p.Name, func(t *testing.T) {
			l := newLab(t)
			l.sink(testAddr6[1])
			r := l.reader()
			tpl := l.template(p.Family, testAddr6, 3, nil, 18)
			s, e := l.open(p, l.config(tpl)), newExpect(tpl, l)
			e.send(s, r, 10, 18)
			l.check(s.Mark(2, marker))
			for {
				a, ok := r.next()
				if !ok {
					t.Fatal("no end marker arrived")
				}
				h, payload, isUDP := parse(a.frame)
				if !isUDP {
					continue
				}
				if !bytes.Equal(payload, marker) || h.src.Port() != testSrcPort+2 || h.dst.Port() != testDstPort {
					t.Fatalf("end marker from %v to %v: %q", h.src, h.dst, payload)
				}
				break
			}
			e.send(s, r, 200, 18) // what follows is as before
			if done, err := s.Drain(context.Background()); err != nil || done.Packets != 210 {
				t.Errorf("Drain = %+v, %v: the end marker is no packet of the test", done, err)
			}
		})
	}
}
