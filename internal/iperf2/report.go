package iperf2

import (
	"errors"
	"math"
	"slices"
	"time"
)

// ReportSize is the number of bytes of a server's report in every layout: a
// client decodes so many whatever came.
const ReportSize = 128

// A Report is what a server says of a UDP flow, in answer to its FIN. That FIN
// is among Bytes and Datagrams.
type Report struct {
	Bytes    uint64        // UDP payload
	Duration time.Duration // from the first datagram to the last; µs on the wire
	Lost     uint64        // datagrams that are missing
	// OutOfOrder has late datagrams and duplicates together.
	OutOfOrder uint64
	Datagrams  uint64        // the highest number
	Jitter     time.Duration // RFC 1889's; µs on the wire
	// Latency is absent where it was not measured. Before 2.1 there is none.
	Latency *Latency
	PPS     uint32
}

// Latency is of the one-way delay of datagrams, by both ends' wall clocks; µs on
// the wire.
type Latency struct {
	Min, Mean, Max, Stdev time.Duration
	Datagrams             uint32 // of which it was measured
}

// flagLatency in a report says that the latency is valid.
const flagLatency = flagExtended

// Offsets in the report of what release 2.1 added behind the words of putOld.
const (
	atMin          = 56
	atMax          = 64
	atSum          = 72
	atMean         = 80
	atM2           = 88 // the sum of squared deviations: µs², then millionths
	atCount        = 104
	atPPS          = 108
	atOne          = 112
	atHighLost     = 116
	atHighOrder    = 120
	atHighDatagram = 124
)

// Append appends the report in a layout. It is the answer to a FIN, of which
// releases before 2.1 want the front back.
func (r *Report) Append(b []byte, l Layout, fin []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, ReportSize)...)
	switch out := b[start:]; l {
	case Layout205:
		copy(out, fin[:min(len(fin), oldPrefix)])
		r.putOld(out[oldPrefix:], flagBack, l)
	case Layout2010:
		copy(out, fin[:min(len(fin), PrefixSize)])
		r.putOld(out[PrefixSize:], flagBack, l)
	case Layout2013:
		copy(out, fin[:min(len(fin), PrefixSize)])
		r.putOld(out[PrefixSize:], flagBack|flagSeq64, l)
	default:
		r.put(out)
	}
	return b
}

// putOld writes the ten words of releases before 2.1 behind their flags.
func (r *Report) putOld(b []byte, flags uint32, l Layout) {
	words := []uint32{
		flags, uint32(r.Bytes >> 32), uint32(r.Bytes),
		uint32(r.Duration / time.Second), uint32(r.Duration % time.Second / time.Microsecond),
		uint32(r.Lost), uint32(r.OutOfOrder), uint32(r.Datagrams),
		uint32(r.Jitter / time.Second), uint32(r.Jitter % time.Second / time.Microsecond),
	}
	if l == Layout2010 {
		words = slices.Insert(words, 8, uint32(r.Datagrams>>32))
	}
	for i, w := range words {
		be.PutUint32(b[4*i:], w)
	}
}

func (r *Report) put(b []byte) {
	r.putOld(b[PrefixSize:], flagBack|flagSeq64, Layout21)
	if l := r.Latency; l != nil {
		be.PutUint32(b[PrefixSize:], flagBack|flagSeq64|flagLatency)
		n := float64(l.Datagrams)
		putTime(b[atMin:], l.Min)
		putTime(b[atMax:], l.Max)
		putTime(b[atSum:], l.Mean*time.Duration(l.Datagrams))
		putTime(b[atMean:], l.Mean)
		us := float64(l.Stdev) / float64(time.Microsecond)
		whole, part := math.Modf(us * us * max(0, n-1))
		be.PutUint32(b[atM2:], uint32(min(whole, math.MaxUint32)))
		be.PutUint32(b[atM2+4:], uint32(part*1e6))
		be.PutUint32(b[atCount:], l.Datagrams)
	}
	be.PutUint32(b[atPPS:], r.PPS)
	be.PutUint32(b[atOne:], 1)
	be.PutUint32(b[atHighLost:], uint32(r.Lost>>32))
	be.PutUint32(b[atHighOrder:], uint32(r.OutOfOrder>>32))
	be.PutUint32(b[atHighDatagram:], uint32(r.Datagrams>>32))
}

// errNoReport is of a datagram that is no server's report: a late ack, or the
// FIN itself, which servers from 2.1.8 to 2.2.1 send back in place of a second
// report.
var errNoReport = errors.New("no server's report")

// ParseReport reads a server's answer to a FIN. It takes any input.
func ParseReport(b []byte) (*Report, error) {
	if len(b) < oldPrefix+40 {
		return nil, errNoReport
	}
	id := int32(be.Uint32(b))
	echo := id < 0
	switch w12 := be.Uint32(b[oldPrefix:]); {
	case echo && w12 == flagBack:
		return readOld(b[oldPrefix:], Layout205), nil
	case id > 0 || len(b) < atMin:
		return nil, errNoReport
	}
	flags := be.Uint32(b[PrefixSize:])
	switch {
	case flags&^flagLatency == flagBack|flagSeq64:
		r := readOld(b[PrefixSize:], Layout21)
		if len(b) >= ReportSize && !echo {
			r.readMore(b, flags)
		}
		return r, nil
	case echo && flags == flagBack && len(b) >= atMin+4:
		return readOld(b[PrefixSize:], Layout2010), nil
	}
	return nil, errNoReport
}

// readOld reads the words that every release has.
func readOld(b []byte, l Layout) *Report {
	r := &Report{
		Bytes:      be.Uint64(b[4:]),
		Duration:   max(0, readSpan(b[12:])),
		Lost:       uint64(be.Uint32(b[20:])),
		OutOfOrder: uint64(be.Uint32(b[24:])),
		Datagrams:  uint64(be.Uint32(b[28:])),
	}
	jitter := b[32:]
	if l == Layout2010 {
		r.Datagrams |= uint64(be.Uint32(jitter)) << 32
		jitter = jitter[4:]
	}
	r.Jitter = max(0, readSpan(jitter))
	return r
}

// readMore reads what release 2.1 added.
func (r *Report) readMore(b []byte, flags uint32) {
	r.PPS = be.Uint32(b[atPPS:])
	r.Lost |= uint64(be.Uint32(b[atHighLost:])) << 32
	r.OutOfOrder |= uint64(be.Uint32(b[atHighOrder:])) << 32
	r.Datagrams |= uint64(be.Uint32(b[atHighDatagram:])) << 32
	if flags&flagLatency == 0 {
		return
	}
	l := &Latency{Min: readSpan(b[atMin:]), Mean: readSpan(b[atMean:]), Max: readSpan(b[atMax:]), Datagrams: be.Uint32(b[atCount:])}
	if l.Datagrams > 1 {
		m2 := float64(be.Uint32(b[atM2:])) + float64(be.Uint32(b[atM2+4:]))/1e6
		l.Stdev = time.Duration(math.Sqrt(m2/float64(l.Datagrams-1)) * float64(time.Microsecond))
	}
	r.Latency = l
}
