package host

import (
	"errors"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
)

// next reads from a goroutine outside of the namespace, as a session does.
func next(t *testing.T, w *Watcher) (Event, bool) {
	t.Helper()
	type read struct {
		e  Event
		ok bool
	}
	c := make(chan read, 1)
	go func() {
		e, ok := <-w.Events
		c <- read{e, ok}
	}()
	select {
	case r := <-c:
		return r.e, r.ok
	case <-time.After(5 * time.Second):
		t.Fatal("no event came")
		return Event{}, false
	}
}

func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l := enterLab(t)
	w, err := Watch(eth0(t).Index)
	must(t, err)
	defer w.Close()
	link, err := netlink.LinkByName("eth0")
	must(t, err)
	for _, step := range []struct {
		name string
		do   func() error
		want Event
	}{
		{"set down", func() error { return netlink.LinkSetDown(link) }, Event{Change: Down}},
		{"set up", func() error { return netlink.LinkSetUp(link) }, Event{Change: Up}},
		{"carrier lost", func() error { return l.B().SetUp("eth0", false) }, Event{Change: Down}},
		{"carrier back", func() error { return l.B().SetUp("eth0", true) }, Event{Change: Up}},
		{"MTU", func() error { return netlink.LinkSetMTU(link, 1400) }, Event{Change: MTUChanged, OldMTU: 1500, NewMTU: 1400}},
		{"removed", func() error { return netlink.LinkDel(link) }, Event{Change: Deleted}},
	} {
		before := time.Now()
		must(t, step.do())
		got, ok := next(t, w)
		if !ok || got.At.Before(before) || got.At.After(time.Now()) {
			t.Errorf("%s: event %v, %v at %v", step.name, got, ok, got.At)
		}
		// A link that is removed goes down first.
		if step.want.Change == Deleted && got.Change == Down {
			got, _ = next(t, w)
		}
		got.At = time.Time{}
		if got != step.want {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
	if e, ok := next(t, w); ok {
		t.Errorf("after the end: %v", e)
	}
	w.Close()
	w.Close()
}

func TestWatchSeesOneLinkOnly(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	enterLab(t)
	w, err := Watch(eth0(t).Index)
	must(t, err)
	lo, err := netlink.LinkByName("lo")
	must(t, err)
	must(t, netlink.LinkSetDown(lo))
	link, err := netlink.LinkByName("eth0")
	must(t, err)
	must(t, netlink.LinkSetMTU(link, 1300))
	if e, _ := next(t, w); e.Change != MTUChanged {
		t.Errorf("first event: %v, want the MTU of eth0", e)
	}
	w.Close()
}

func TestWatchClosedWithEventsUnread(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	enterLab(t)
	w, err := Watch(eth0(t).Index)
	must(t, err)
	link, err := netlink.LinkByName("eth0")
	must(t, err)
	for mtu := 1300; mtu < 1300+2*cap(w.Events); mtu++ {
		must(t, netlink.LinkSetMTU(link, mtu))
	}
	w.Close()
	n := 0
	for range w.Events {
		n++
	}
	if n > cap(w.Events) {
		t.Errorf("%d events after Close", n)
	}
}

func TestWatchOfNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	if _, err := Watch(1 << 20); !errors.Is(err, ErrNoInterface) {
		t.Errorf("got %v, want ErrNoInterface", err)
	}
}
