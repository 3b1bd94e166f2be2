package session

import (
	"fmt"
	"time"

	"linerate/internal/host"
)

// afterShock is how long the kernel may take to tell what a failure was: the
// removal of an interface begins with its going down.
const afterShock = 100 * time.Millisecond

// link is the interface of a test, watched for what would end it.
type link struct {
	name    string
	watcher *host.Watcher
	events  <-chan host.Event // nil where no interface is known
	failure *host.Event       // what ends the test; nil while it may go on
}

// watch watches an interface by its index; 0 watches nothing.
func watch(index int) (*link, error) {
	if index == 0 {
		return &link{}, nil
	}
	facts, err := host.LinkByIndex(index)
	if err != nil {
		return nil, err
	}
	w, err := host.Watch(index)
	if err != nil {
		return nil, err
	}
	return &link{name: facts.Name, watcher: w, events: w.Events}, nil
}

// failed takes an event and reports whether it ends the test.
func (l *link) failed(e host.Event, open bool) bool {
	if !open {
		l.events = nil
		return false
	}
	if e.Change != host.Up && (l.failure == nil || e.Change == host.Deleted) {
		l.failure = &e
	}
	return l.failure != nil
}

// explain turns the error that ended a test into the event behind it, if there
// was one.
func (l *link) explain(err error) error {
	if err == nil && l.failure == nil {
		return nil
	}
	for timeout := time.After(afterShock); l.events != nil; {
		select {
		case e, open := <-l.events:
			l.failed(e, open)
			continue
		case <-timeout:
		}
		break
	}
	if l.failure == nil {
		return err
	}
	return fmt.Errorf("%s %v during the test: what was measured until then stands above", l.name, *l.failure)
}

func (l *link) close() {
	if l.watcher != nil {
		l.watcher.Close()
	}
}
