package linux

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestTxGeometry(t *testing.T) {
	for _, tt := range []struct {
		n, size, page int
		want          txGeometry
	}{
		{64, 60, 4096, txGeometry{stride: 128, perBlock: 32, block: 4096, blocks: 2}},
		{64, 1514, 4096, txGeometry{stride: 2048, perBlock: 4, block: 8192, blocks: 16}},
		{1, 4096 - txData, 4096, txGeometry{stride: 4096, perBlock: 4, block: 16384, blocks: 1}},
		{1, 4096 - txData + 1, 4096, txGeometry{stride: 8192, perBlock: 4, block: 32768, blocks: 1}},
		{64, 9014, 4096, txGeometry{stride: 12288, perBlock: 5, block: 65536, blocks: 13}},
		{1, 65549, 4096, txGeometry{stride: 17 * 4096, perBlock: 7, block: 524288, blocks: 1}},
		{64, 9014, 65536, txGeometry{stride: 16384, perBlock: 4, block: 65536, blocks: 16}},
	} {
		got := newTxGeometry(tt.n, tt.size, tt.page)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(txGeometry{})); diff != "" {
			t.Errorf("%d slots for %d bytes with pages of %d (-want +got):\n%s", tt.n, tt.size, tt.page, diff)
		}
	}
}

// TestTxGeometryRules holds every layout against what the kernel demands.
func TestTxGeometryRules(t *testing.T) {
	for _, page := range []int{4096, 16384, 65536} {
		for size := 1; size < 70000; size += 7 {
			for _, n := range []int{1, 5, 4096} {
				g := newTxGeometry(n, size, page)
				if g.stride < txData+size || g.stride%unix.TPACKET_ALIGNMENT != 0 || g.block%page != 0 ||
					g.perBlock != g.block/g.stride || g.perBlock < 1 || g.blocks*g.perBlock < n {
					t.Fatalf("%d slots for %d bytes with pages of %d: %+v", n, size, page, g)
				}
			}
		}
	}
}

// ringLab puts the test's thread into a namespace of its own with a veth pair of
// an MTU, and returns packet sockets: one sends on the first end, the other sees
// what arrives at the second.
func ringLab(t *testing.T, mtu int) (send, receive int, link netlink.Link) {
	t.Helper()
	runtime.LockOSThread() // for good: the namespace ends with the thread
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(unix.Unshare(unix.CLONE_NEWNET))
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "a", mtu
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU = "b", uint32(mtu)
	check(netlink.LinkAdd(veth))
	open := func(name string, protocol uint16) (int, netlink.Link) {
		link, err := netlink.LinkByName(name)
		check(err)
		check(netlink.LinkSetUp(link))
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		check(err)
		t.Cleanup(func() { unix.Close(fd) })
		check(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: link.Attrs().Index}))
		return fd, link
	}
	send, link = open("a", 0)
	receive, _ = open("b", binary.NativeEndian.Uint16([]byte{ringEtherType >> 8, ringEtherType & 0xff}))
	check(unix.SetsockoptInt(receive, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		now, err := netlink.LinkByName("a")
		check(err)
		if now.Attrs().OperState == netlink.OperUp {
			return send, receive, link
		}
		if time.Now().After(deadline) {
			t.Fatal("the veth pair does not come up")
		}
	}
}

// ringEtherType is one for experiments (RFC 9542, appendix B).
const ringEtherType = 0x88b5

// fill lays out a frame with a number, and that number's low byte to its end.
func fill(frame []byte, number int) {
	for i := range frame {
		frame[i] = byte(number)
	}
	copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, ringEtherType >> 8, ringEtherType & 0xff})
	binary.BigEndian.PutUint32(frame[14:], uint32(number))
}

// expectFrames reads n frames numbered from first, and no more.
func expectFrames(t *testing.T, fd, first, n, size int) {
	t.Helper()
	buf, want := make([]byte, 1<<17), make([]byte, size)
	for i := first; i < first+n; i++ {
		got, err := unix.Read(fd, buf)
		if err != nil {
			t.Fatalf("frame %d of %d: %v", i, n, err)
		}
		if fill(want, i); string(want) != string(buf[:got]) {
			t.Fatalf("frame %d: %d bytes of number %d, want %d bytes", i, got, binary.BigEndian.Uint32(buf[14:]), size)
		}
	}
	if n, err := unix.Read(fd, buf); err != unix.EAGAIN {
		t.Fatalf("%d bytes more, %v", n, err)
	}
}

// pending counts the slots that the kernel has.
func pending(r *TxRing) (n int) {
	for i := range r.Len() {
		if r.Pending(i) {
			n++
		}
	}
	return n
}

// TestTxRingSizes sends frames of all sizes around the pages' edges. The reader
// comes late, when the slots of its frames have been used again: what the kernel
// took it has taken whole.
func TestTxRingSizes(t *testing.T) {
	_, receive, link := ringLab(t, 65535)
	for _, size := range []int{60, 1514, 4045, 4064, 4065, 4095, 4096, 4097, 8192, 9014, 9018, 65535, 65549} {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: link.Attrs().Index}); err != nil {
			t.Fatal(err)
		}
		r, err := NewTxRing(fd, 16, size)
		if err != nil {
			t.Fatal(err)
		}
		total := 3*r.Len() + 5
		for sent := 0; sent < total; {
			n := r.Room(min(7, total-sent))
			if n == 0 {
				t.Fatalf("%d bytes: no room after %d frames", size, sent)
			}
			for k := range n {
				fill(r.Slot(k), sent+k)
				r.SetLen(k, size)
			}
			if taken, err := r.Send(n); taken != n || err != nil {
				t.Fatalf("%d bytes: Send(%d) = %d, %v", size, n, taken, err)
			}
			sent += n
		}
		expectFrames(t, receive, 0, total, size)
		if pending(r) != 0 || r.Room(1<<20) != r.Len() {
			t.Errorf("%d bytes: %d pending, room for %d of %d", size, pending(r), r.Room(1<<20), r.Len())
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		unix.Close(fd)
	}
}

// TestTxRingWrongFormat sends a frame that is too long among good ones.
func TestTxRingWrongFormat(t *testing.T) {
	send, receive, _ := ringLab(t, 1500)
	r, err := NewTxRing(send, 4, 2000)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	number := 0
	for range 10 { // more than a round of the ring
		lengths := []int{100, 100, 1600, 100}
		for k, n := range lengths {
			fill(r.Slot(k), number+k)
			r.SetLen(k, n)
		}
		if taken, err := r.Send(len(lengths)); taken != 2 || !errors.Is(err, unix.EMSGSIZE) {
			t.Fatalf("Send = %d, %v, want 2 and EMSGSIZE", taken, err)
		}
		expectFrames(t, receive, number, 2, 100)
		if pending(r) != 0 || r.Room(4) != 4 {
			t.Fatalf("%d pending, room for %d", pending(r), r.Room(4))
		}
		number += 2
	}
}

// TestTxRingRefused sends into a queue of five frames or so. What it refuses is
// free again at once, and is sent later in its turn.
func TestTxRingRefused(t *testing.T) {
	send, receive, link := ringLab(t, 1500)
	const bytesPerSecond, size = 1_000_000 / 8, 1000
	if err := netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       bytesPerSecond, Limit: 5 * size, Buffer: netlink.Xmittime(bytesPerSecond, 2*size),
	}); err != nil {
		t.Fatal(err)
	}
	r, err := NewTxRing(send, 32, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const total = 40
	sent, refused := 0, 0
	for deadline := time.Now().Add(10 * time.Second); sent < total && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		n := r.Room(min(10, total-sent))
		for k := range n {
			fill(r.Slot(k), sent+k)
			r.SetLen(k, size)
		}
		taken, err := r.Send(n)
		if err != nil && err != unix.ENOBUFS || (err == nil) != (taken == n) {
			t.Fatalf("Send(%d) = %d, %v", n, taken, err)
		}
		if sent += taken; taken < n {
			refused++
		}
	}
	if refused == 0 || pending(r) == 0 {
		t.Errorf("%d refused, %d pending, of a queue that was full", refused, pending(r))
	}
	for deadline := time.Now().Add(5 * time.Second); pending(r) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d still pending", pending(r))
		}
	}
	expectFrames(t, receive, 0, total, size)
}

func TestTxRingLimits(t *testing.T) {
	send, _, _ := ringLab(t, 1500)
	if r, err := NewTxRing(send, 0, 60); err == nil {
		t.Errorf("a ring of no slots: %v", r)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if r, err := NewTxRing(fd, 1, 60); err == nil {
		t.Errorf("a ring for a UDP socket: %v", r)
	}
}

func TestTxRingAllocs(t *testing.T) {
	send, _, _ := ringLab(t, 1500)
	r, err := NewTxRing(send, 256, 60)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	allocs := testing.AllocsPerRun(100, func() {
		n := r.Room(64)
		for k := range n {
			fill(r.Slot(k), k)
			r.SetLen(k, 60)
		}
		if taken, err := r.Send(n); taken != n || err != nil {
			t.Errorf("Send(%d) = %d, %v", n, taken, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a burst", allocs)
	}
}
