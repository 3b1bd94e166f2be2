//go:build !linux

package host

// Watch returns a watcher that never has an event: only Linux tells them.
func Watch(ifindex int) (*Watcher, error) {
	if _, err := LinkByIndex(ifindex); err != nil {
		return nil, err
	}
	events := make(chan Event)
	w := &Watcher{Events: events, done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		defer close(events)
		<-w.done
	}()
	return w, nil
}
