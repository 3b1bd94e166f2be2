package session

import (
	"fmt"

	"linerate/internal/host"
)

// link is the interface of a test, watched for what would end it.
type link struct {
	name    string
	watcher *host.Watcher
	events  <-chan host.Event // nil where no interface is known
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

// failure is the error that an event ends the test with; nil if it may go on.
func (l *link) failure(e host.Event, open bool) error {
	if !open {
		l.events = nil
		return nil
	}
	if e.Change == host.Up {
		return nil
	}
	return fmt.Errorf("%s %v during the test; what was measured until then stands above", l.name, e)
}

func (l *link) close() {
	if l.watcher != nil {
		l.watcher.Close()
	}
}
