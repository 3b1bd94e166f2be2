package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// udpPair returns two UDP sockets on the loopback of one IP version; a is
// connected to b. It also returns the address and port that a sends from.
func udpPair(t *testing.T, family int) (a, b int, addr [16]byte, port uint16) {
	t.Helper()
	var name unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	addr = [16]byte{10: 0xff, 0xff, 127, 0, 0, 1}
	if family == unix.AF_INET6 {
		addr = [16]byte{15: 1}
		name = &unix.SockaddrInet6{Addr: addr}
	}
	fds := [2]int{}
	for i := range fds {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Bind(fd, name); err != nil {
			t.Fatal(err)
		}
		fds[i] = fd
	}
	a, b = fds[0], fds[1]
	to, err := unix.Getsockname(b)
	if err == nil {
		err = unix.Connect(a, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, err := unix.Getsockname(a)
	if err != nil {
		t.Fatal(err)
	}
	switch from := from.(type) {
	case *unix.SockaddrInet4:
		port = uint16(from.Port)
	case *unix.SockaddrInet6:
		port = uint16(from.Port)
	}
	return a, b, addr, port
}

func TestRecvBatch(t *testing.T) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		a, b, addr, port := udpPair(t, family)
		if err := unix.SetsockoptInt(b, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1); err != nil {
			t.Fatal(err)
		}
		batch := NewRecvBatch(8, 64)
		if n, err := batch.Recv(b); n != 0 || err != nil {
			t.Fatalf("an empty socket: %d, %v", n, err)
		}
		// More rounds than one: the kernel changes the lengths that it was given.
		for round := range 3 {
			sizes := []int{0, 1, 63, 64, 65, 1472, 9000, 65000, 7, 8}
			before := time.Now().UnixNano()
			for i, size := range sizes {
				if _, err := unix.Write(a, bytes.Repeat([]byte{byte(i + round)}, size)); err != nil {
					t.Fatal(err)
				}
			}
			i := 0
			for _, want := range []int{8, 2, 0} {
				n, err := batch.Recv(b)
				if n != want || err != nil {
					t.Fatalf("%d messages, %v; want %d", n, err, want)
				}
				for j := range n {
					m := batch.Arrival(j)
					if m.Len != sizes[i] || !bytes.Equal(m.Data, bytes.Repeat([]byte{byte(i + round)}, min(sizes[i], 64))) {
						t.Errorf("message %d: %d bytes, %x; want %d", i, m.Len, m.Data, sizes[i])
					}
					// The kernel switches stamping on in the background and stamps when
					// we read until then.
					if now := time.Now().UnixNano(); m.Wall < before || m.Wall > now {
						t.Errorf("message %d: stamp %d is not within %d and %d", i, m.Wall, before, now)
					}
					if gotAddr, gotPort := batch.Source(j); gotAddr != addr || gotPort != port {
						t.Errorf("message %d: from %v port %d, want %v port %d", i, gotAddr, gotPort, addr, port)
					}
					i++
				}
			}
		}
	}
}

func TestRecvBatchUnstamped(t *testing.T) {
	a, b, _, _ := udpPair(t, unix.AF_INET)
	if _, err := unix.Write(a, []byte("x")); err != nil {
		t.Fatal(err)
	}
	batch := NewRecvBatch(1, 64)
	n, err := batch.Recv(b)
	if n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if m := batch.Arrival(0); m.Wall != 0 || m.Status != 0 {
		t.Errorf("%+v, want no stamp and no status", m)
	}
}

func TestRecvBatchError(t *testing.T) {
	if _, err := NewRecvBatch(1, 64).Recv(-1); err != unix.EBADF {
		t.Errorf("%v, want EBADF", err)
	}
}

// tapAll lets a socket of ringLab see frames before the kernel forgets their
// tags, and keep up to snap bytes of those that are the test's.
func tapAll(t *testing.T, fd int, snap uint32) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 12},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: ringEtherType, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: snap},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 4, Filter: &filter[0]})
	if err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	name.(*unix.SockaddrLinklayer).Protocol = binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})
	if err := unix.Bind(fd, name); err != nil {
		t.Fatal(err)
	}
}

// TestRecvBatchFrames reads a packet socket whose filter keeps the head of each
// frame and whose kernel takes tags out.
func TestRecvBatchFrames(t *testing.T) {
	send, receive, _ := ringLab(t, 9000)
	for _, option := range []struct{ level, name int }{
		{unix.SOL_PACKET, unix.PACKET_AUXDATA}, {unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW},
	} {
		if err := unix.SetsockoptInt(receive, option.level, option.name, 1); err != nil {
			t.Fatal(err)
		}
	}
	tapAll(t, receive, 50)
	before := time.Now().UnixNano()
	frame := bytes.Repeat([]byte{1}, 5000)
	frame[12], frame[13] = ringEtherType>>8, ringEtherType&0xff
	tagged := bytes.Repeat([]byte{1}, 5004)
	copy(tagged[12:], []byte{0x81, 0x00, 5 << 5, 100, ringEtherType >> 8, ringEtherType & 0xff})
	for _, f := range [][]byte{frame, tagged} {
		if _, err := unix.Write(send, f); err != nil {
			t.Fatal(err)
		}
	}
	batch := NewRecvBatch(8, 64)
	n, err := batch.Recv(receive)
	if n != 2 || err != nil {
		t.Fatal(n, err)
	}
	for i := range n {
		m := batch.Arrival(i)
		if m.Len != 5000 || !bytes.Equal(m.Data, frame[:50]) {
			t.Errorf("frame %d: %d bytes, %x", i, m.Len, m.Data)
		}
		if now := time.Now().UnixNano(); m.Wall < before || m.Wall > now {
			t.Errorf("frame %d: stamp %d is not within %d and %d", i, m.Wall, before, now)
		}
		if isTagged := m.Status&unix.TP_STATUS_VLAN_VALID != 0; isTagged != (i == 1) || isTagged && m.TCI != 5<<13|100 {
			t.Errorf("frame %d: status %#x, tag %#x", i, m.Status, m.TCI)
		}
	}
}

func TestRecvBatchAllocs(t *testing.T) {
	a, b, _, _ := udpPair(t, unix.AF_INET)
	batch := NewRecvBatch(4, 64)
	message := []byte("message")
	sum := 0
	if allocs := testing.AllocsPerRun(50, func() {
		for range 4 {
			if _, err := unix.Write(a, message); err != nil {
				t.Fatal(err)
			}
		}
		n, err := batch.Recv(b)
		if n != 4 || err != nil {
			t.Fatal(n, err)
		}
		for i := range n {
			sum += batch.Arrival(i).Len
			batch.Source(i)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
	if sum != 51*4*len(message) {
		t.Error(sum)
	}
}

func TestSocketDrops(t *testing.T) {
	a, b, _, _ := udpPair(t, unix.AF_INET)
	if err := unix.SetsockoptInt(b, unix.SOL_SOCKET, unix.SO_RCVBUF, 10_000); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := unix.Write(a, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := NewRecvBatch(100, 64).Recv(b)
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := SocketDrops(b)
	if err != nil || dropped == 0 || kept == 0 || kept+int(dropped) != 100 {
		t.Errorf("%d kept + %d dropped, %v", kept, dropped, err)
	}
	if _, err := SocketDrops(-1); err == nil {
		t.Error("drops of no socket")
	}
}
