package linux

import (
	"bytes"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rxRing is a ring of small blocks on the receiving socket of ringLab, and a
// function that puts a frame on the wire.
func rxRing(t *testing.T, blocks int) (r *RxRing, fd int, put func([]byte)) {
	t.Helper()
	send, receive, _ := ringLab(t, 9000)
	r, err := NewRxRing(receive, 16<<10, blocks, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, receive, func(frame []byte) {
		t.Helper()
		if _, err := unix.Write(send, frame); err != nil {
			t.Fatal(err)
		}
	}
}

// experiment is a frame of the given length whose bytes depend on its number.
func experiment(size, number int) []byte {
	frame := make([]byte, size)
	fill(frame, number)
	frame[12], frame[13] = ringEtherType>>8, ringEtherType&0xff
	return frame
}

// acquire waits for the next block.
func acquire(t *testing.T, r *RxRing) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !r.Acquire(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no block is handed over")
		}
	}
}

// TestRxRing sends frames of all lengths, several times round the ring.
func TestRxRing(t *testing.T) {
	r, _, put := rxRing(t, 4)
	if r.Acquire() {
		t.Fatal("a block of an unused ring is handed over")
	}
	sizes := []int{60, 61, 1514, 4095, 4096, 4097, 8192, 9014}
	number := 0
	for range 20 {
		first := number
		before := time.Now().UnixNano()
		for _, size := range sizes {
			put(experiment(size, number))
			number++
		}
		for first < number {
			acquire(t, r)
			for f, ok := r.Next(); ok; f, ok = r.Next() {
				want := experiment(sizes[first%len(sizes)], first)
				if f.Len != len(want) || !bytes.Equal(f.Data, want) {
					t.Fatalf("frame %d: %d bytes, want %d", first, f.Len, len(want))
				}
				if now := time.Now().UnixNano(); f.Wall < before || f.Wall > now {
					t.Errorf("frame %d: stamp %d is not within %d and %d", first, f.Wall, before, now)
				}
				if f.Status&(unix.TP_STATUS_VLAN_VALID|unix.TP_STATUS_CSUMNOTREADY) != 0 {
					t.Errorf("frame %d: status %#x", first, f.Status)
				}
				first++
			}
			r.Release()
		}
	}
}

func TestRxRingTag(t *testing.T) {
	r, fd, put := rxRing(t, 2)
	tapAll(t, fd, 10_000)
	frame := experiment(1000, 1)
	put(append(frame[:12:12], append([]byte{0x81, 0, 3 << 5, 9}, frame[12:]...)...))
	acquire(t, r)
	f, ok := r.Next()
	if !ok || !bytes.Equal(f.Data, frame) || f.Len != 1000 {
		t.Errorf("%d bytes, %v", f.Len, ok)
	}
	if f.Status&unix.TP_STATUS_VLAN_VALID == 0 || f.TCI != 3<<13|9 {
		t.Errorf("status %#x, tag %#x", f.Status, f.TCI)
	}
	if _, ok := r.Next(); ok {
		t.Error("a frame behind the last")
	}
}

// TestRxRingFull holds that what finds the ring full is lost and counted, and
// that it goes on afterwards.
func TestRxRingFull(t *testing.T) {
	r, fd, put := rxRing(t, 2)
	for round := range 3 {
		for i := range 100 {
			put(experiment(1000, i))
		}
		read := 0
		for read == 0 || r.Acquire() {
			acquire(t, r)
			for _, ok := r.Next(); ok; _, ok = r.Next() {
				read++
			}
			r.Release()
			time.Sleep(10 * time.Millisecond) // longer than a block is kept open
		}
		stats, err := unix.GetsockoptTpacketStatsV3(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Drops == 0 || read+int(stats.Drops) != 100 {
			t.Errorf("round %d: %d read + %d dropped", round, read, stats.Drops)
		}
	}
}

func TestRxRingRefused(t *testing.T) {
	_, udp, _, _ := udpPair(t, unix.AF_INET)
	_, receive, _ := ringLab(t, 1500)
	for name, open := range map[string]func() (*RxRing, error){
		"odd block":     func() (*RxRing, error) { return NewRxRing(receive, os.Getpagesize()+1, 1, time.Millisecond) },
		"no blocks":     func() (*RxRing, error) { return NewRxRing(receive, os.Getpagesize(), 0, time.Millisecond) },
		"a UDP socket":  func() (*RxRing, error) { return NewRxRing(udp, os.Getpagesize(), 1, time.Millisecond) },
		"closed socket": func() (*RxRing, error) { return NewRxRing(-1, os.Getpagesize(), 1, time.Millisecond) },
	} {
		if r, err := open(); err == nil {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func TestRxRingClose(t *testing.T) {
	r, _, _ := rxRing(t, 2)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRxRingAllocs(t *testing.T) {
	r, _, put := rxRing(t, 4)
	frame := experiment(1000, 1)
	read := 0
	if allocs := testing.AllocsPerRun(20, func() {
		put(frame)
		acquire(t, r)
		for _, ok := r.Next(); ok; _, ok = r.Next() {
			read++
		}
		r.Release()
	}); allocs != 0 {
		t.Errorf("%v allocations a block", allocs)
	}
	if read != 21 {
		t.Errorf("%d frames read", read)
	}
}
