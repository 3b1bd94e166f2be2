package host

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Watch subscribes to the changes of a link. The subscription stays in the
// network namespace of the calling thread, wherever its events are read.
func Watch(ifindex int) (*Watcher, error) {
	updates := make(chan netlink.LinkUpdate)
	done := make(chan struct{})
	if err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{}); err != nil {
		return nil, fmt.Errorf("watch interfaces: %w", err)
	}
	events := make(chan Event, 16)
	w := &Watcher{Events: events, done: done, ended: make(chan struct{})}
	// Read after the subscription began: no change falls between the two.
	link, err := LinkByIndex(ifindex)
	go func() {
		defer close(w.ended)
		defer func() {
			// The package's goroutine may be about to deliver one more.
			<-done
			for range updates {
			}
		}()
		defer close(events)
		if err == nil {
			state := linkState{running: link.Running(), mtu: link.MTU}
			follow(ifindex, state, updates, events, done)
		}
	}()
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// follow turns the updates of one link into events until it is deleted.
func follow(ifindex int, state linkState, updates <-chan netlink.LinkUpdate, events chan<- Event, done <-chan struct{}) {
	send := func(e Event) bool {
		select {
		case events <- e:
			return true
		case <-done:
			return false
		}
	}
	for u := range updates {
		// A bridge port that leaves its bridge is announced as deleted in AF_BRIDGE.
		if int(u.Index) != ifindex || u.Family != unix.AF_UNSPEC {
			continue
		}
		if u.Header.Type == unix.RTM_DELLINK {
			send(Event{At: time.Now(), Change: Deleted})
			return
		}
		const running = unix.IFF_UP | unix.IFF_LOWER_UP
		next := linkState{running: u.Flags&running == running, mtu: u.Attrs().MTU}
		for _, e := range state.changes(next, time.Now()) {
			if !send(e) {
				return
			}
		}
		state = next
	}
}
