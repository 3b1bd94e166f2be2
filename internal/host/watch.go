package host

import (
	"fmt"
	"sync"
	"time"
)

// A Change is what happened to a link.
type Change uint8

const (
	Down       Change = iota // set down, or the carrier was lost
	Up                       // up again and with a carrier
	MTUChanged               // see OldMTU and NewMTU
	Deleted                  // removed, or moved to another network namespace
)

// An Event is one change of a watched link.
type Event struct {
	At             time.Time // when the kernel's message was read
	Change         Change
	OldMTU, NewMTU int // IP bytes; of MTUChanged only
}

// String says the change in words that follow the name of the interface.
func (e Event) String() string {
	switch e.Change {
	case Down:
		return "went down"
	case Up:
		return "came up"
	case MTUChanged:
		return fmt.Sprintf("changed its MTU from %d to %d", e.OldMTU, e.NewMTU)
	default:
		return "was removed"
	}
}

// A Watcher tells the changes of one link until it is closed.
type Watcher struct {
	// Events has the changes in order. It is closed after Deleted, after Close,
	// and if the kernel ends the subscription.
	Events <-chan Event

	done    chan struct{}
	ended   chan struct{}
	closing sync.Once
}

// Close ends the subscription and waits for its goroutine.
func (w *Watcher) Close() {
	w.closing.Do(func() { close(w.done) })
	<-w.ended
}

// linkState is what the last message said of a watched link.
type linkState struct {
	running bool
	mtu     int
}

// changes are the events that lead from s to the state after it.
func (s linkState) changes(after linkState, at time.Time) []Event {
	var events []Event
	if after.mtu != s.mtu {
		events = append(events, Event{At: at, Change: MTUChanged, OldMTU: s.mtu, NewMTU: after.mtu})
	}
	switch {
	case s.running && !after.running:
		events = append(events, Event{At: at, Change: Down})
	case !s.running && after.running:
		events = append(events, Event{At: at, Change: Up})
	}
	return events
}
