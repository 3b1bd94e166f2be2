package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// MaxEndSize is the most bytes that an end marker takes: it has to pass where
// small frames did, whatever tunnels are on the path.
const MaxEndSize = 500

// MaxFlows is the most flows of a test: a flow's number has 16 bits.
const MaxFlows = 1 << 16

// A ClockState says what disciplines the sender's clock.
type ClockState uint8

const (
	ClockUnknown ClockState = iota
	ClockUnsynchronised
	ClockNTP
	ClockPTP
)

// An EndMarker is what a sender says after its last packet, in the native
// format: what it sent, and how its clock relates to others.
//
// On the wire, in network byte order: a native header with MagicEnd, flow 0,
// the total of packets as its sequence number and Mono as its time; then
//
//	18  boot id              16
//	34  CLOCK_MONOTONIC, ns   8
//	42  CLOCK_TAI, ns         8  0 if unknown
//	50  packets of the rest   8
//	58  clock state           1
//	59  CLOCK_REALTIME, ns    8
//	67  error bound, ns       8
//	75  number of runs        2
//	77  the runs: flows - 1 as an unsigned varint, then packets less those of
//	    the run before as a signed one (Protocol Buffers' base 128)
type EndMarker struct {
	Run uint16
	// Counts has what each flow sent, from flow 0 on.
	Counts []FlowCount
	// Rest is the sum of what the flows beyond Counts sent: those that a marker
	// had no room for.
	Rest uint64
	// BootID is the sender's /proc/sys/kernel/random/boot_id. Where it equals
	// the receiver's, both read one CLOCK_MONOTONIC, unless in a time namespace.
	BootID [16]byte
	// Mono, TAI and Wall are CLOCK_MONOTONIC, CLOCK_TAI and CLOCK_REALTIME in ns,
	// read together. A TAI of 0 is unknown.
	Mono, TAI, Wall int64
	Clock           ClockState
	// ErrorBound is how far in ns the wall clock may be from true time, as the
	// sender's kernel has it; it means nothing of a clock that nothing disciplines.
	ErrorBound int64
}

// A FlowCount is a run of consecutive flows of which each sent as many packets.
type FlowCount struct {
	Flows   int // 1..MaxFlows
	Packets uint64
}

// CompressCounts turns the packets sent per flow into runs.
func CompressCounts(sent []uint64) []FlowCount {
	var runs []FlowCount
	for _, packets := range sent {
		if n := len(runs); n > 0 && runs[n-1].Packets == packets {
			runs[n-1].Flows++
		} else {
			runs = append(runs, FlowCount{1, packets})
		}
	}
	return runs
}

// Sent is what a flow sent; false if the marker doesn't say.
func (e *EndMarker) Sent(flow uint16) (uint64, bool) {
	next := 0
	for _, run := range e.Counts {
		next += run.Flows
		if int(flow) < next {
			return run.Packets, true
		}
	}
	return 0, false
}

// Total is what all flows sent together.
func (e *EndMarker) Total() uint64 {
	total := e.Rest
	for _, run := range e.Counts {
		total += uint64(run.Flows) * run.Packets
	}
	return total
}

const (
	endBootID = NativeSize
	endMono   = endBootID + 16
	endTAI    = endMono + 8
	endRest   = endTAI + 8
	endClock  = endRest + 8
	endWall   = endClock + 1
	endError  = endWall + 8
	endRuns   = endError + 8
	endSize   = endRuns + 2 // without any runs
)

// AppendEnd appends the marker as a UDP payload of at most MaxEndSize bytes. If
// the runs take more than that, the last ones go into the rest: the total stays
// exact.
func AppendEnd(b []byte, e *EndMarker) []byte {
	start := len(b)
	b = append(b, make([]byte, endSize)...)
	putNative(b[start:], MagicEnd, e.Run, 0, e.Total(), e.Mono)
	runs, rest := 0, e.Rest
	var before uint64
	for i, run := range e.Counts {
		next := binary.AppendUvarint(b, uint64(run.Flows-1))
		next = binary.AppendVarint(next, int64(run.Packets-before))
		if len(next)-start > MaxEndSize {
			rest = (&EndMarker{Counts: e.Counts[i:], Rest: rest}).Total()
			break
		}
		b, before = next, run.Packets
		runs++
	}
	head := b[start:]
	copy(head[endBootID:], e.BootID[:])
	binary.BigEndian.PutUint64(head[endMono:], uint64(e.Mono))
	binary.BigEndian.PutUint64(head[endTAI:], uint64(e.TAI))
	binary.BigEndian.PutUint64(head[endRest:], rest)
	head[endClock] = byte(e.Clock)
	binary.BigEndian.PutUint64(head[endWall:], uint64(e.Wall))
	binary.BigEndian.PutUint64(head[endError:], uint64(e.ErrorBound))
	binary.BigEndian.PutUint16(head[endRuns:], uint16(runs))
	return b
}

// ParseEnd reads an end marker from a UDP payload. What it returns shares
// nothing with b.
func ParseEnd(b []byte) (*EndMarker, error) {
	header, kind := Native.Parse(b)
	if kind != End || len(b) < endSize || len(b) > MaxEndSize {
		return nil, fmt.Errorf("%d bytes are no end marker", len(b))
	}
	e := &EndMarker{
		Run:    header.Run,
		Rest:   binary.BigEndian.Uint64(b[endRest:]),
		BootID: [16]byte(b[endBootID:]),
		Mono:   int64(binary.BigEndian.Uint64(b[endMono:])),
		TAI:    int64(binary.BigEndian.Uint64(b[endTAI:])),
		Wall:   int64(binary.BigEndian.Uint64(b[endWall:])),
		Clock:  ClockState(b[endClock]),

		ErrorBound: int64(binary.BigEndian.Uint64(b[endError:])),
	}
	var err error
	runs := int(binary.BigEndian.Uint16(b[endRuns:]))
	if e.Counts, err = parseRuns(b[endSize:], runs); err != nil {
		return nil, fmt.Errorf("end marker: %w", err)
	}
	if err := e.check(header); err != nil {
		return nil, fmt.Errorf("end marker: %w", err)
	}
	return e, nil
}

// parseRuns reads n runs that take up exactly b.
func parseRuns(b []byte, n int) ([]FlowCount, error) {
	if n > len(b)/2 {
		return nil, fmt.Errorf("%d runs of flow counts in %d bytes", n, len(b))
	}
	var runs []FlowCount
	var packets uint64
	for range n {
		more, width := binary.Uvarint(b)
		if width <= 0 || more >= MaxFlows {
			return nil, errors.New("broken number of flows")
		}
		b = b[width:]
		delta, width := binary.Varint(b)
		if width <= 0 {
			return nil, errors.New("broken packet count")
		}
		b = b[width:]
		packets += uint64(delta)
		runs = append(runs, FlowCount{int(more) + 1, packets})
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(b))
	}
	return runs, nil
}

// check refuses a marker that contradicts itself or its header.
func (e *EndMarker) check(h Header) error {
	flows, total := 0, e.Rest
	for _, run := range e.Counts {
		flows += run.Flows
		over, packets := bits.Mul64(uint64(run.Flows), run.Packets)
		sum, carry := bits.Add64(total, packets, 0)
		if over != 0 || carry != 0 {
			return errors.New("the packet counts overflow")
		}
		total = sum
	}
	switch {
	case flows > MaxFlows:
		return fmt.Errorf("%d flows, the most is %d", flows, MaxFlows)
	case h.Flow != 0 || h.Seq != total&nativeMask || h.Sent != e.Mono&nativeMask:
		return errors.New("header and body differ")
	case e.Mono < 0 || e.TAI < 0 || e.Wall < 0 || e.ErrorBound < 0:
		return errors.New("negative time")
	case e.Clock > ClockPTP:
		return fmt.Errorf("unknown clock state %d", e.Clock)
	}
	return nil
}
