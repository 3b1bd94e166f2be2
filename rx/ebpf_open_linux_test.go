package rx

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx/track"
)

// attached is what of eBPF an interface has.
func (h *testHost) attached(t *testing.T) (programs int) {
	t.Helper()
	if x := h.link(t).Attrs().Xdp; x != nil && x.Attached {
		programs++
	}
	h.do(t, func() error {
		tc, err := link.QueryPrograms(link.QueryOptions{Target: h.index, Attach: cebpf.AttachTCXIngress})
		if err == nil {
			programs += len(tc.Programs)
		}
		return err
	})
	return programs
}

// TestHooks counts by each hook, of small and of jumbo frames. A driver's that can't
// have these says so, and others can (BC-034).
func TestHooks(t *testing.T) {
	for _, mtu := range []int{1500, 9000} {
		a, b := newPair(t)
		must(t, a.nl.LinkSetMTU(a.link(t), mtu))
		must(t, b.nl.LinkSetMTU(b.link(t), mtu))
		for _, hook := range []bpf.Hook{bpf.DriverXDP, bpf.DriverXDPFragments, bpf.GenericXDP, bpf.TC} {
			for _, to := range []netip.AddrPort{server4, server6} {
				t.Run(fmt.Sprintf("%v/%d/%v", hook, mtu, to.Addr()), func(t *testing.T) {
					c := Config{Interface: b.iface, IfIndex: b.index, Local: netip.MustParseAddrPort("[::]:5201")}
					var r *ebpf
					var err error
					b.do(t, func() error {
						var broken error
						if r, broken = newEBPF(&c); broken != nil {
							return broken
						}
						err = r.attach(&c, hook)
						return nil
					})
					defer func() {
						must(t, r.Close())
						if n := b.attached(t); n != 0 {
							t.Errorf("%d programs are still attached", n)
						}
					}()
					if hook == bpf.DriverXDP && mtu == 9000 {
						if !errors.Is(err, unix.ERANGE) {
							t.Errorf("jumbo frames without fragments: %v", err)
						}
						return
					}
					must(t, err)
					if n := b.attached(t); n != 1 {
						t.Errorf("%d programs are attached", n)
					}
					if slow := hook == bpf.GenericXDP || hook == bpf.TC; slow != strings.Contains(r.Note(), hook.String()) {
						t.Errorf("note %q", r.Note())
					}
					counted(t, a, r, to, mtu)
				})
			}
		}
	}
}

// counted sends packets with some faults and an end marker over a veth pair, and
// wants them counted.
func counted(t *testing.T, a *testHost, r *ebpf, to netip.AddrPort, mtu int) {
	conn := a.dial(t, to)
	s := probe.Stamper{Run: testRun}
	size := mtu - 48
	send := func(seq uint64) {
		b := make([]byte, size)
		s.Put(b, 0, seq, linux.Monotonic())
		_, err := conn.Write(b)
		must(t, err)
	}
	for seq := range uint64(100) {
		switch seq {
		case 10: // lost
		case 20, 21: // swapped
			send(41 - seq)
		case 30:
			send(seq)
			send(seq)
		default:
			send(seq)
		}
	}
	_, err := conn.Write([]byte("a stranger's"))
	must(t, err)
	_, err = conn.Write(probe.AppendEnd(nil, &probe.EndMarker{Run: testRun, Counts: []probe.FlowCount{{Flows: 1, Packets: 102}}}))
	must(t, err)

	tracker := track.New(track.Config{})
	for end := time.Now().Add(time.Second); !tracker.Ended() && time.Now().Before(end); {
		_, err := r.Receive(tracker, time.Now().Add(20*time.Millisecond))
		must(t, err)
	}
	must(t, r.Settle(tracker))
	result, err := tracker.Finish(track.Settlement{Clock: track.Same})
	must(t, err)
	want := track.Counts{Packets: 100, Unique: 99, Lost: 3, Duplicates: 1, Reordered: 1, PayloadBytes: uint64(100 * size), UniquePayloadBytes: uint64(99 * size)}
	if diff := cmp.Diff(want, result.Counts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if result.Foreign != 1 || result.Bursts.Gaps != 2 || result.Bursts.Max != 2 || result.ReorderExtentMax != 1 || tracker.IPv6() != to.Addr().Is6() {
		t.Errorf("%d foreign, %d gaps, %+v", result.Foreign, result.Bursts.Gaps, result)
	}
	if d := result.Delay; d == nil || d.N != 99 || d.Min < 0 || d.Max > int64(time.Second) {
		t.Errorf("delay %+v", result.Delay)
	}
	if diff := cmp.Diff(Frames{}, r.Frames()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSuperframesSplit holds that datagrams that GSO merged come apart before the
// driver's XDP.
func TestSuperframesSplit(t *testing.T) {
	a, b := newPair(t)
	must(t, a.nl.LinkSetMTU(a.link(t), 1500))
	must(t, b.nl.LinkSetMTU(b.link(t), 1500))
	r := b.open(t, "ebpf", Config{Local: netip.MustParseAddrPort("[::]:5201")})
	s := newStream(t)
	s.stamper = probe.Stamper{Run: testRun}
	s.tracker = track.New(track.Config{})
	s.train(t, a.dial(t, server4), 40, 1000, 500)
	if got := s.receive(t, r); got != 40 || s.tracker.Totals().Unique != 40 {
		t.Errorf("%d counted, %+v", got, s.tracker.Totals())
	}
}

// TestReceiveAfterSettle holds that a count that has ended is no lost interface.
func TestReceiveAfterSettle(t *testing.T) {
	_, b := newPair(t)
	r := b.open(t, "ebpf", Config{Local: netip.MustParseAddrPort("[::]:5201")}).(*ebpf)
	tracker := track.New(track.Config{})
	must(t, r.Settle(tracker))
	if n, err := r.Receive(tracker, time.Now()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestTaken is of an interface that has a program of someone else: it stays.
func TestTaken(t *testing.T) {
	_, b := newPair(t)
	theirs, err := cebpf.NewProgram(&cebpf.ProgramSpec{
		Type: cebpf.XDP, License: "GPL", AttachType: cebpf.AttachXDP, Flags: unix.BPF_F_XDP_HAS_FRAGS,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	must(t, err)
	defer theirs.Close()
	for _, mode := range []link.XDPAttachFlags{link.XDPDriverMode, link.XDPGenericMode} {
		var l link.Link
		b.do(t, func() (err error) {
			l, err = link.AttachXDP(link.XDPOptions{Program: theirs, Interface: b.index, Flags: mode})
			return err
		})
		c := Config{Interface: b.iface, IfIndex: b.index, Local: netip.MustParseAddrPort("[::]:5201")}
		var refused error
		b.do(t, func() error {
			_, refused = openEBPF(&c)
			return nil
		})
		if !errors.Is(refused, unix.EBUSY) {
			t.Fatalf("%v, want EBUSY", refused)
		}
		for _, part := range []string{"rx ebpf: ", "another program", "ip link set dev veth0 xdp off", "--rx ring"} {
			if s := refused.Error(); !strings.Contains(s, part) || strings.Contains(s, "\n") {
				t.Errorf("%q, want a line with %q", s, part)
			}
		}
		b.do(t, func() error {
			_, refused = openAFXDP(&c)
			return nil
		})
		if !errors.Is(refused, unix.EBUSY) || !strings.Contains(refused.Error(), "another program holds the interface") {
			t.Errorf("%v, want EBUSY", refused)
		}
		if x := b.link(t).Attrs().Xdp; !x.Attached || b.attached(t) != 1 {
			t.Errorf("their program is gone: %+v", x)
		}
		must(t, l.Close())
	}
}

// TestCapabilities holds that the path runs with those that it names.
func TestCapabilities(t *testing.T) {
	const perfmon = 38 // CAP_PERFMON of linux/capability.h
	_, b := newPair(t)
	c := Config{Interface: b.iface, IfIndex: b.index, Local: netip.MustParseAddrPort("[::]:5201")}
	b.do(t, func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var have [2]unix.CapUserData
		for _, c := range []int{unix.CAP_BPF, perfmon, unix.CAP_NET_ADMIN} {
			have[c/32].Permitted |= 1 << (c % 32)
			have[c/32].Effective |= 1 << (c % 32)
		}
		if err := unix.Capset(&header, &have[0]); err != nil {
			return err
		}
		r, err := openEBPF(&c)
		if err != nil {
			return err
		}
		return r.Close()
	})
}

// victim is the variable that makes a test process one that TestKilled kills: the
// interface to count on.
const victim = "LINERATE_TEST_VICTIM"

func TestMain(m *testing.M) {
	iface := os.Getenv(victim)
	if iface == "" {
		os.Exit(m.Run())
	}
	_, err := openEBPF(&Config{Interface: iface, Local: netip.MustParseAddrPort("[::]:5201")})
	fmt.Println("attached:", err)
	time.Sleep(time.Minute)
}

// TestKilled holds that nothing of a process remains that had no time to clean up.
func TestKilled(t *testing.T) {
	_, b := newPair(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+b.iface)
	out, err := cmd.StdoutPipe()
	must(t, err)
	b.do(t, cmd.Start) // in the host's namespace
	defer func() { _ = cmd.Wait() }()
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "attached: <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if n := b.attached(t); n != 1 {
		t.Errorf("%d programs are attached", n)
	}
	must(t, cmd.Process.Kill())
	b.await(t, "an interface without programs", func() bool { return b.attached(t) == 0 })
}

// TestTwoCPUs counts a flow that comes on two CPUs at once, all of it and no more
// than so many.
func TestTwoCPUs(t *testing.T) {
	const n = 300_000
	for _, most := range []uint64{0, 100_000} {
		l := loadMost(t, "[::]:5201", most)
		f := testFrame{src: client4, dst: server4, dstMAC: l.host.mac, payload: numbered(3)}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := l.prog.Run(&cebpf.RunOptions{Data: f.bytes(), Repeat: n}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		tracker := track.New(track.Config{})
		_, err := l.look(tracker, time.Now())
		must(t, err)
		got := tracker.Totals()
		if got.Unique != 1 || got.Duplicates != got.Packets-1 || most == 0 && got.Packets < 2*n || most > 0 && got.Packets != most {
			t.Errorf("most %d: %+v of %d", most, got.Counts, 2*n)
		}
		if drops := dropsOf(t, l.ebpf); drops != 0 {
			t.Errorf("%d drops", drops)
		}
	}
}
