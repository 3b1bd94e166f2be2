package rx

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connect opens a UDP socket whose writes allocate nothing.
func (h *testHost) connect(tb testing.TB, to netip.AddrPort) (fd int) {
	tb.Helper()
	h.do(tb, func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	})
	tb.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestReceiveAllocs(t *testing.T) {
	a, b := newPair(t)
	fd := a.connect(t, server4)
	for _, path := range pathNames() {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		payload := s.payload(500)
		received := 0
		allocs := testing.AllocsPerRun(20, func() {
			for range batch {
				if _, err := unix.Write(fd, payload); err != nil {
					t.Fatal(err)
				}
			}
			for got := 0; got < batch; {
				n, err := r.Receive(s.tracker, time.Now().Add(time.Second))
				if err != nil || n == 0 {
					t.Fatalf("%s: %d of %d, then %v", path, got, batch, err)
				}
				got += n
				received += n
			}
		})
		if received != 21*batch {
			t.Errorf("%s: %d received", path, received)
		}
		if allocs != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations a batch", path, allocs)
		}
		must(t, r.Close())
	}
}

// BenchmarkReceive is the receiver's processor time per packet, its share of the
// kernel's work included, but not that of bringing the packet to the socket.
func BenchmarkReceive(b *testing.B) {
	left, right := newPair(b)
	fd := left.connect(b, server4)
	for _, path := range pathNames() {
		for _, size := range []int{18, 1472, 8972} {
			b.Run(fmt.Sprint(path, "/", size), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				s := newStream(b)
				c := s.config("[::]:5201")
				c.Capture = 64
				r := right.open(b, path, c)
				payload := s.payload(size)
				const train = 400 // fits the receive buffer
				var packets, spent int64
				b.ReportAllocs()
				for b.Loop() {
					for range train {
						if _, err := unix.Write(fd, payload); err != nil {
							b.Fatal(err)
						}
					}
					before := threadTime(b)
					for got := 0; got < train; {
						n, err := r.Receive(s.tracker, time.Now().Add(time.Second))
						if err != nil || n == 0 {
							b.Fatalf("%d of %d, then %v", got, train, err)
						}
						got += n
					}
					spent += threadTime(b) - before
					packets += train
				}
				b.ReportMetric(float64(spent)/float64(packets), "cpu-ns/packet")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// threadTime is the processor time of the calling thread in ns.
func threadTime(tb testing.TB) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		tb.Fatal(err)
	}
	return ts.Nano()
}
