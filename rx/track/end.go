package track

import "linerate/internal/probe"

// marker takes an end marker; it reports whether it is one of the test's.
func (t *Tracker) marker(p []byte, h probe.Header, from probe.Source) bool {
	if t.config.Format != probe.Native {
		return t.fin(h.Seq, from)
	}
	end, err := probe.ParseEnd(p)
	if err != nil || t.started && end.Run != t.run {
		return false
	}
	if t.started && t.end != nil {
		return true // a repetition
	}
	t.end = end
	for _, f := range t.flows {
		t.tell(f)
	}
	return true
}

// fin takes the FIN of an iperf 2 flow, or a repetition with a greater count.
// One for a flow that has no packets, or less than came, is none of the test's.
func (t *Tracker) fin(sent uint64, from probe.Source) bool {
	f := t.sources[from]
	if f == nil || f.delays == nil || sent < f.next {
		return false
	}
	f.sent = min(f.sent, sent)
	return true
}

// tell gives a flow the sender's count, if an end marker has it. A marker that
// has all flows but this one says that the flow isn't the sender's.
func (t *Tracker) tell(f *flow) {
	if t.end == nil {
		return
	}
	packets, ok := t.end.Sent(f.number)
	if ok || t.end.Rest == 0 {
		f.sent = min(f.sent, packets)
	}
}

// Sent is for a sender's count that came some other way than in an end marker.
// number means the flow for Native, from for the other formats. Numbers from
// the count on are foreign; of several counts the smallest holds.
func (t *Tracker) Sent(number uint16, from probe.Source, packets uint64) {
	f := t.flow(number, from)
	if f == nil {
		return
	}
	if f.delays == nil {
		t.enter(f)
	}
	f.sent = min(f.sent, packets)
}

// End is the native format's end marker; nil until one came.
func (t *Tracker) End() *probe.EndMarker { return t.end }

// Ended reports whether the sender has said of every flow what it sent.
func (t *Tracker) Ended() bool {
	if t.end != nil {
		return true
	}
	for _, f := range t.flows {
		if f.sent == unknown {
			return false
		}
	}
	return len(t.flows) > 0
}

// Complete reports whether the sender has ended and nothing of what it sent is
// missing.
func (t *Tracker) Complete() bool {
	if !t.Ended() {
		return false
	}
	var unique uint64
	for _, f := range t.flows {
		if f.sent != unknown && f.Unique != f.sent {
			return false
		}
		unique += f.Unique
	}
	return t.end == nil || t.config.Selected || unique == t.end.Total()
}
