package rx

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/bpf"
)

// TestAFXDPLeavesNothing holds that the program is off the interface again, also
// when the process was killed.
func TestAFXDPLeavesNothing(t *testing.T) {
	s := newStream(t)
	const hold = "LINERATE_TEST_HOLD"
	if iface := os.Getenv(hold); iface != "" { // the process to be killed
		c := s.config("[::]:5201")
		c.Interface = iface
		_, err := openAFXDP(&c)
		must(t, err)
		os.Stdout.WriteString("open\n")
		select {}
	}
	_, b := newPair(t)
	r := b.open(t, "afxdp", s.config("[::]:5201"))
	if b.attached(t) == 0 {
		t.Error("an open path has no program")
	}
	must(t, r.Close())
	if b.attached(t) != 0 {
		t.Error("the program outlived its path")
	}

	cmd := exec.Command("/proc/self/exe", "-test.run=^TestAFXDPLeavesNothing$")
	cmd.Env = append(os.Environ(), hold+"="+b.iface)
	out, err := cmd.StdoutPipe()
	must(t, err)
	b.do(t, cmd.Start) // in b's namespace, like the thread that starts it
	if _, err := out.Read(make([]byte, 5)); err != nil || b.attached(t) == 0 {
		t.Errorf("the process opened nothing: %v", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	b.await(t, "an interface without a program", func() bool { return b.attached(t) == 0 })
	b.open(t, "afxdp", s.config("[::]:5201"))
}

// TestAFXDPKeepsOthers holds that a program that was there first stays, and that
// the error says so.
func TestAFXDPKeepsOthers(t *testing.T) {
	_, b := newPair(t)
	b.do(t, func() error {
		pass, err := bpf.AttachPass(b.index)
		if err != nil {
			return err
		}
		c := newStream(t).config("[::]:5201")
		c.Interface, c.IfIndex = b.iface, b.index
		before := descriptors(t)
		if _, err := openAFXDP(&c); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "another program holds the interface") {
			t.Errorf("%v, want EBUSY", err)
		}
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors, then %d", before, after)
		}
		if b.attached(t) == 0 {
			t.Error("the other program is gone")
		}
		return pass.Close()
	})
}

// TestAFXDPGeneric receives by a device whose driver has no XDP, and says so (BC-034).
func TestAFXDPGeneric(t *testing.T) {
	a, b := newPair(t)
	must(t, b.nl.LinkAdd(&netlink.Macvlan{
		LinkAttrs: netlink.LinkAttrs{Name: "m", ParentIndex: b.index, MTU: 9000},
		Mode:      netlink.MACVLAN_MODE_PASSTHRU,
	}))
	link, err := b.nl.LinkByName("m")
	must(t, err)
	must(t, b.nl.LinkSetUp(link))
	b.iface, b.index = "m", link.Attrs().Index
	b.awaitCarrier(t)
	put := a.wire(t)
	s := newStream(t)
	r := b.open(t, "afxdp", s.config("[::]:5201"))
	if got := r.(Noted).Note(); !strings.Contains(got, "generic XDP") {
		t.Errorf("mode %q", got)
	}
	for i := range 100 {
		put(testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(100 + 88*i)}.bytes())
	}
	s.train(t, a.dial(t, server4), 20, 1000, 1000) // which nothing takes apart here
	if got := s.receive(t, r); got != 100 {
		t.Errorf("%d received, want 100", got)
	}
	if diff := cmp.Diff(Frames{Superframes: 1}, frames(t, r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if drops := dropsOf(t, r); drops != 0 {
		t.Errorf("%d drops", drops)
	}
}

// TestAFXDPDropsJumbo counts datagrams of several chunks that found no room.
func TestAFXDPDropsJumbo(t *testing.T) {
	a, b := newPair(t)
	conn := a.dial(t, server4)
	s := newStream(t)
	c := s.config("[::]:5201")
	c.Interface, c.IfIndex = b.iface, b.index
	var r *afxdp
	b.do(t, func() (err error) {
		r, err = newAFXDP(&c, 1, false) // the least
		return err
	})
	t.Cleanup(func() { r.Close() })
	const n = 300
	for range n {
		_, err := conn.Write(s.payload(8972))
		must(t, err)
	}
	received := uint64(s.receive(t, r))
	if drops := dropsOf(t, r); received == 0 || drops == 0 || received+drops != n {
		t.Errorf("%d received + %d dropped, of %d", received, drops, n)
	}
}

// TestAFXDPOfTooManyQueues refuses an interface of which it would not hear all.
func TestAFXDPOfTooManyQueues(t *testing.T) {
	h := newHost(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.NumRxQueues, attrs.NumTxQueues = h.iface, bpf.MaxQueues+1, 1
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "peer"
	must(t, h.nl.LinkAdd(veth))
	h.setUp(t)
	c := newStream(t).config("[::]:5201")
	c.Interface, c.IfIndex = h.iface, h.index
	h.do(t, func() error {
		_, err := openAFXDP(&c)
		const want = "rx afxdp: veth0 has more than 64 receive queues (ethtool -L veth0 combined 64, or --rx ring)"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		return nil
	})
}
