package linux

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// socketPair returns two connected datagram sockets, the second non-blocking.
func socketPair(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return fds[0], fds[1]
}

func TestMMsg(t *testing.T) {
	a, b := socketPair(t)
	const slots, size = 8, 1501
	m, err := NewMMsg(slots, size)
	if err != nil {
		t.Fatal(err)
	}
	if m.Len() != slots {
		t.Fatalf("%d slots, want %d", m.Len(), slots)
	}
	for i := range slots {
		s := m.Slot(i)
		if len(s) != size || cap(s) != size {
			t.Fatalf("slot %d: %d bytes of %d", i, len(s), cap(s))
		}
		for j := range s {
			s[j] = byte(i)
		}
		m.SetPart(i, 0, size-i)
	}
	receive := func(first, n int) {
		t.Helper()
		buf := make([]byte, 2*size)
		for i := first; i < first+n; i++ {
			got, err := unix.Read(b, buf)
			if err != nil || got != size-i || buf[0] != byte(i) || buf[got-1] != byte(i) {
				t.Fatalf("message %d: %d bytes of %d, %v", i, got, buf[0], err)
			}
		}
		if n, err := unix.Read(b, buf); err != unix.EAGAIN {
			t.Fatalf("%d bytes more, %v", n, err)
		}
	}
	for _, tt := range []struct{ from, n int }{{0, 8}, {0, 1}, {7, 1}, {3, 4}, {2, 0}} {
		if n, err := m.Send(a, tt.from, tt.n); n != tt.n || err != nil {
			t.Fatalf("Send of %d from %d = %d, %v", tt.n, tt.from, n, err)
		}
		receive(tt.from, tt.n)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMMsgShort fills the peer's queue: the count says how much it took, and the
// next call why not more.
func TestMMsgShort(t *testing.T) {
	a, b := socketPair(t)
	m, err := NewMMsg(MaxMMsg, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range m.Len() {
		binary.BigEndian.PutUint64(m.Slot(i), uint64(i))
	}
	sent := 0
	for {
		n, err := m.Send(a, sent, m.Len()-sent)
		sent += n
		if err != nil {
			if n != 0 || err != unix.EAGAIN {
				t.Fatalf("Send = %d, %v", n, err)
			}
			break
		}
	}
	if sent == 0 || sent == m.Len() {
		t.Fatalf("a queue took %d of %d", sent, m.Len())
	}
	buf := make([]byte, 8)
	for i := range sent {
		if _, err := unix.Read(b, buf); err != nil || binary.BigEndian.Uint64(buf) != uint64(i) {
			t.Fatalf("message %d: %x, %v", i, buf, err)
		}
	}
	if _, err := unix.Read(b, buf); err != unix.EAGAIN {
		t.Fatalf("more than %d arrived: %v", sent, err)
	}
}

func TestMMsgLimits(t *testing.T) {
	for _, tt := range []struct{ n, size int }{{0, 1}, {1, 0}, {MaxMMsg + 1, 1}} {
		if m, err := NewMMsg(tt.n, tt.size); err == nil {
			t.Errorf("NewMMsg(%d, %d) = %v", tt.n, tt.size, m)
		}
	}
}

func TestMMsgAllocs(t *testing.T) {
	a, b := socketPair(t)
	m, err := NewMMsg(4, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	buf := make([]byte, 100)
	allocs := testing.AllocsPerRun(100, func() {
		m.SetPart(0, 0, 50)
		m.Gather(0, 4, 1, 7)
		if n, err := m.Send(a, 0, 4); n != 4 || err != nil {
			t.Errorf("Send = %d, %v", n, err)
		}
		for range 4 {
			if _, err := unix.Read(b, buf); err != nil {
				t.Error(err)
			}
		}
		if _, err := m.Send(-1, 0, 4); err != unix.EBADF {
			t.Error(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}
