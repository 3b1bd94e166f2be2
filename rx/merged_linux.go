package rx

import (
	"linerate/internal/probe"
	"linerate/rx/track"
)

// hand gives the tracker a payload of size bytes, which was captured whole if it
// holds several datagrams: of segment bytes each but for the last, which may be
// shorter. A segment of 0 is one datagram. It returns how many they are.
func (m *Merged) hand(t *track.Tracker, payload []byte, size, segment int, from probe.Source, at int64) int {
	if segment == 0 || segment >= size {
		t.Datagram(payload, size, from, at)
		return 1
	}
	n := 0
	for ; len(payload) > 0; n++ {
		part := payload[:min(segment, len(payload))]
		t.Datagram(part, len(part), from, at)
		payload = payload[len(part):]
	}
	m.Frames++
	m.Datagrams += uint64(n)
	return n
}
