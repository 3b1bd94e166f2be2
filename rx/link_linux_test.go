package rx

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLinkDown is BC-082: a link that is down for a while is told once.
func TestLinkDown(t *testing.T) {
	a, b := newPair(t)
	link := b.link(t)
	for _, path := range []string{"packet", "ring", "afxdp"} {
		s := newStream(t)
		r := b.open(t, path, s.config("10.0.0.2:5201"))
		receive := func() (int, error) { return r.Receive(s.tracker, time.Now().Add(20*time.Millisecond)) }

		must(t, b.nl.LinkSetDown(link))
		if _, err := receive(); !errors.Is(err, unix.ENETDOWN) || !strings.Contains(err.Error(), "veth0") {
			t.Errorf("%s: link down: %v, want ENETDOWN", path, err)
		}
		if n, err := receive(); n != 0 || err != nil {
			t.Errorf("%s: link still down: %d, %v, want silence", path, n, err)
		}
		must(t, b.nl.LinkSetUp(link))
		b.awaitCarrier(t)
		a.awaitCarrier(t)
		a.wire(t)(testFrame{srcMAC: a.mac, dstMAC: b.mac, src: client4, dst: server4, payload: s.payload(100)}.bytes())
		if n, err := receive(); n != 1 || err != nil {
			t.Errorf("%s: link up again: %d, %v, want 1 datagram", path, n, err)
		}
	}
}

// TestInterfaceRemoved is BC-080: a receiver whose interface is gone says so
// each time, at once, and does not spin until then.
func TestInterfaceRemoved(t *testing.T) {
	for _, path := range []string{"packet", "ring", "ebpf", "afxdp"} {
		_, b := newPair(t)
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		var removed error
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			time.Sleep(100 * time.Millisecond)
			link, err := b.nl.LinkByName(b.iface)
			removed = errors.Join(err, b.nl.LinkDel(link))
		}()
		before := processTime(t)
		begun := time.Now()
		var err error
		for err == nil || errors.Is(err, unix.ENETDOWN) {
			_, err = r.Receive(s.tracker, time.Now().Add(100*time.Millisecond))
			if time.Since(begun) > 3*time.Second {
				t.Fatalf("%s: no end: %v", path, err)
			}
		}
		<-gone
		must(t, removed)
		if !errors.Is(err, unix.ENODEV) || !strings.Contains(err.Error(), "veth0 was removed") {
			t.Errorf("%s: %v, want ENODEV", path, err)
		}
		if used := processTime(t) - before; used > time.Since(begun)/4 {
			t.Errorf("%s: %v of processor time in %v", path, used, time.Since(begun))
		}
		begun = time.Now()
		if _, err := r.Receive(s.tracker, begun.Add(10*time.Second)); !errors.Is(err, unix.ENODEV) || time.Since(begun) > 2*time.Second {
			t.Errorf("%s: afterwards %v in %v, want ENODEV at once", path, err, time.Since(begun))
		}
		if drops := dropsOf(t, r); drops != 0 {
			t.Errorf("%s: %d drops", path, drops)
		}
	}
}

// processTime is the processor time that this process has used.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var ts unix.Timespec
	must(tb, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// TestUntil holds that Receive keeps the time that it was given. Of several times the
// shortest tells: what else goes on here only makes them longer.
func TestUntil(t *testing.T) {
	_, b := newPair(t)
	for _, path := range Names() {
		s := newStream(t)
		r := b.open(t, path, s.config("[::]:5201"))
		for _, wait := range []time.Duration{-time.Second, 0, time.Millisecond, 20 * time.Millisecond} {
			shortest := time.Hour
			for range 5 {
				begun := time.Now()
				n, err := r.Receive(s.tracker, begun.Add(wait))
				took := time.Since(begun)
				if n != 0 || err != nil || took < wait {
					t.Errorf("%s: %v: %d, %v after %v", path, wait, n, err, took)
				}
				shortest = min(shortest, took)
			}
			if shortest > max(wait, 0)+100*time.Millisecond {
				t.Errorf("%s: %v: at least %v", path, wait, shortest)
			}
		}
		must(t, r.Close())
	}
}
