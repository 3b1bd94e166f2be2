package linux

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// lettered makes a batch of slots "aaaa…", "bbbb…" and so on.
func lettered(t *testing.T, n, size int) *MMsg {
	t.Helper()
	m, err := NewMMsg(n, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	for i := range n {
		copy(m.Slot(i), bytes.Repeat([]byte{'a' + byte(i)}, size))
	}
	return m
}

// TestGather puts slots behind one another.
func TestGather(t *testing.T) {
	a, b := socketPair(t)
	m := lettered(t, 8, 100)
	for i := range m.Len() {
		m.SetPart(i, i, i+i%3+1)
	}
	for _, tt := range []struct {
		from, to, per int
		want          []string
	}{
		{0, 8, 1, []string{"a", "bb", "ccc", "d", "ee", "fff", "g", "hh"}},
		{0, 8, 3, []string{"abbccc", "deefff", "ghh"}},
		{1, 4, 2, []string{"bbccc", "d"}},
		{5, 7, 8, []string{"fffg"}},
		{3, 3, 2, nil},
	} {
		n := m.Gather(tt.from, tt.to, tt.per, 0)
		if sent, err := m.Send(a, 0, n); sent != len(tt.want) || err != nil {
			t.Fatalf("%+v: Send = %d, %v", tt, sent, err)
		}
		if diff := cmp.Diff(tt.want, readAll(t, b)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt, diff)
		}
	}
}

// readAll reads the messages that wait at a socket.
func readAll(t *testing.T, fd int) (all []string) {
	t.Helper()
	buf := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(buf[:n]))
	}
}

// TestSegment lets the kernel cut messages into datagrams, and put them together.
func TestSegment(t *testing.T) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		a, b, _, _ := udpPair(t, family)
		m := lettered(t, 5, 8)
		for i := range m.Len() {
			m.SetPart(i, 0, 4)
		}
		m.SetPart(2, 0, 3)
		n := m.Gather(0, 5, 3, 4)
		if sent, err := m.Send(a, 0, n); sent != 2 || err != nil {
			t.Fatalf("Send = %d, %v", sent, err)
		}
		if diff := cmp.Diff([]string{"aaaa", "bbbb", "ccc", "dddd", "eeee"}, readAll(t, b)); diff != "" {
			t.Errorf("datagrams (-want +got):\n%s", diff)
		}

		if err := unix.SetsockoptInt(b, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			t.Fatal(err)
		}
		n = m.Gather(0, 4, 3, 4)
		if sent, err := m.Send(a, 0, n); sent != 2 || err != nil {
			t.Fatalf("Send = %d, %v", sent, err)
		}
		batch := NewRecvBatch(8, 64)
		if n, err := batch.Recv(b); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		want := []Arrival{{Data: []byte("aaaabbbbccc"), Len: 11, Segment: 4}, {Data: []byte("dddd"), Len: 4}}
		if diff := cmp.Diff(want, []Arrival{batch.Arrival(0), batch.Arrival(1)}); diff != "" {
			t.Errorf("arrivals (-want +got):\n%s", diff)
		}
	}
}

// TestVirtio holds the header against one that was laid out by hand.
func TestVirtio(t *testing.T) {
	want := []byte{1, 5}
	for _, field := range []uint16{42, 1472, 34, 6} {
		want = binary.NativeEndian.AppendUint16(want, field)
	}
	b := bytes.Repeat([]byte{0xa5}, VirtioLen+1)
	PutVirtio(b, 42, 1472)
	if diff := cmp.Diff(append(want, 0xa5), b); diff != "" || segment(b) != 1472 {
		t.Errorf("a super-frame with segments of %d (-want +got):\n%s", segment(b), diff)
	}
	PutVirtio(b, 42, 0)
	if diff := cmp.Diff(append(make([]byte, VirtioLen), 0xa5), b); diff != "" || segment(b) != 0 {
		t.Errorf("a frame with segments of %d (-want +got):\n%s", segment(b), diff)
	}
}
