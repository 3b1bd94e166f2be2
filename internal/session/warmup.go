package session

import (
	"sync/atomic"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/linux"
)

// A warmup is a Sender whose first seconds no total holds. What is due in them
// leaves as flows of its own, numbered behind the others, so that both ends leave
// out the very same packets, whatever becomes of them on the way.
type warmup struct {
	gen.Sender
	start   int64 // ns of CLOCK_MONOTONIC
	length  time.Duration
	unpaced bool     // nothing says when a packet is due: the clock decides
	flows   []uint64 // packets that each flow sent in the warm-up

	before, after sums
}

// sums may be read while the worker adds to them.
type sums struct{ packets, bytes atomic.Uint64 }

func (s *sums) add(packets, size int) {
	s.packets.Add(uint64(packets))
	s.bytes.Add(uint64(packets) * uint64(size))
}

// Send implements gen.Sender.
func (w *warmup) Send(b pace.Burst) (int, error) {
	flow, size := b.Flow, b.Size
	due := b.Due
	if w.unpaced {
		due = time.Duration(linux.Monotonic() - w.start)
	}
	if due >= w.length {
		b.First -= w.flows[flow]
		n, err := w.Sender.Send(b)
		w.after.add(n, size)
		return n, err
	}
	b.Flow += uint16(len(w.flows))
	n, err := w.Sender.Send(b)
	w.flows[flow] += uint64(n)
	w.before.add(n, size)
	return n, err
}

// counts are the numbers of an end marker, of what all flows sent as the pacer
// knows it: those of the flows that count, then those of the warm-up.
func (w *warmup) counts(sent []uint64) []uint64 {
	counts := make([]uint64, 0, 2*len(sent))
	for i, n := range sent {
		counts = append(counts, n-w.flows[i])
	}
	return append(counts, w.flows...)
}
