package session

import (
	"bytes"
	"slices"

	"linerate/internal/linux"
	"linerate/internal/probe"
	"linerate/rx"
	"linerate/rx/track"
)

// strayMost bounds the datagrams that wait for a flow's account.
const strayMost = 1 << 14

// A stray is a datagram of a flow that came to another socket than the flow's.
type stray struct {
	payload []byte // its head
	size    int
	at      int64 // ns of CLOCK_MONOTONIC
}

// add keeps a datagram that came to the listener, if the account wants it: number
// 0, with which old releases begin, counts for nothing.
func (f *IPerf2Flow) add(b []byte) {
	if _, kind := probe.IPerf2.Parse(b); kind == probe.Foreign {
		return
	}
	f.listener.mu.Lock()
	defer f.listener.mu.Unlock()
	if f.closed.IsZero() && len(f.stray) < strayMost {
		head := append([]byte(nil), b[:min(len(b), probe.IPerf2.Size())]...)
		f.stray = append(f.stray, stray{head, len(b), linux.Monotonic()})
	}
}

// has says whether a datagram came to the listener.
func (f *IPerf2Flow) has(b []byte) bool {
	f.listener.mu.Lock()
	defer f.listener.mu.Unlock()
	return slices.ContainsFunc(f.stray, func(s stray) bool { return bytes.HasPrefix(b, s.payload) })
}

// count hands what came to the listener to the flow's account, and says how much
// that was.
func (f *IPerf2Flow) count(t *track.Tracker) (n int) {
	f.listener.mu.Lock()
	defer f.listener.mu.Unlock()
	from := rx.SocketSource(f.Conn, 0)
	for _, s := range f.stray {
		t.Datagram(s.payload, s.size, from, s.at)
	}
	n, f.stray = len(f.stray), nil
	return n
}
