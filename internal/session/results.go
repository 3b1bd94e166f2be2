package session

import (
	"runtime"
	"slices"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/probe"
	"linerate/internal/result"
	"linerate/internal/tcp"
	"linerate/rx/track"
)

// accounted is a leg that has the numbers of each of its streams in the words of
// iperf3's results; the streams' places in the test count from first.
type accounted interface {
	results(first int) []iperf3.StreamResult
}

func (s *sending) results(first int) []iperf3.StreamResult {
	size := int64(s.plan.Schedule.Sizes[0])
	var all []iperf3.StreamResult
	for i, packets := range s.perFlow {
		var omitted uint64
		switch {
		case s.warmup != nil:
			omitted = s.warmup.flows[i]
		case i < len(s.omittedFlows):
			omitted = s.omittedFlows[i]
		}
		all = append(all, iperf3.StreamResult{
			ID: iperf3.StreamID(first + i), Bytes: int64(packets-omitted) * size, Retransmits: -1,
			Packets: int64(packets), OmittedPackets: int64(omitted),
			EndTime: (s.stats.Span - s.omitted.at).Seconds(),
		})
	}
	return all
}

func (r *receiving) results(first int) []iperf3.StreamResult {
	var all []iperf3.StreamResult
	length := r.length()
	for i, f := range r.streams() {
		var omitted track.FlowTotal
		if r.omitted.over {
			omitted = r.omitted.flows[i]
		}
		s := iperf3.StreamResult{
			ID: iperf3.StreamID(first + i), Bytes: int64(f.PayloadBytes - omitted.PayloadBytes), Retransmits: -1,
			Errors: int64(f.Lost), OmittedErrors: int64(omitted.Lost),
			Packets: int64(f.Next), OmittedPackets: int64(omitted.Next),
			EndTime: length.Seconds(),
		}
		if r.sent != nil {
			s.Packets = int64(r.sent[i])
			s.Errors = s.Packets - int64(f.Unique)
		}
		if f.JitterNS != nil {
			s.Jitter = time.Duration(*f.JitterNS).Seconds()
		}
		all = append(all, s)
	}
	return all
}

// streams are the counts of the streams of a coordinated test, in their order.
func (r *receiving) streams() []track.FlowTotal {
	totals := make([]track.FlowTotal, len(r.plan.Streams))
	for _, f := range r.tracker.FlowTotals() {
		if i := r.streamOf(f.Number, f.From); i >= 0 && i < len(totals) {
			totals[i] = f
		}
	}
	return totals
}

// streamOf is the place of a flow among the streams; out of their range for one that
// is none of them.
func (r *receiving) streamOf(number uint16, from probe.Source) int {
	i := int(number)
	if r.plan.Warmup && !r.omitted.over {
		i -= len(r.plan.Streams)
	}
	if r.plan.Track.Format != probe.Native {
		i = slices.Index(r.plan.Streams, from)
	}
	return i
}

func (s *tcpSending) results(first int) []iperf3.StreamResult {
	bytes, _ := s.total(s.sentBy)
	var all []iperf3.StreamResult
	for i := range bytes {
		one := iperf3.StreamResult{
			ID: iperf3.StreamID(first + i), Bytes: int64(bytes[i]), Retransmits: -1, EndTime: s.span().Seconds(),
		}
		if n := s.facts[i].total().Retransmits; n != nil {
			one.Retransmits = int64(*n)
		}
		all = append(all, one)
	}
	return all
}

func (r *tcpReceiving) results(first int) []iperf3.StreamResult {
	bytes, _ := r.total(r.receivedBy)
	var all []iperf3.StreamResult
	for i := range bytes {
		all = append(all, iperf3.StreamResult{
			ID: iperf3.StreamID(first + i), Bytes: int64(bytes[i]), Retransmits: -1, EndTime: r.span().Seconds(),
		})
	}
	return all
}

// resultsOf is what this end tells of a test: the streams of the first leg, then
// those of the second.
func (c *conductor) resultsOf(s *streams, legs ...leg) *iperf3.Results {
	r := &iperf3.Results{SenderHasRetransmits: -1}
	if cpu := c.host().CPU; cpu != nil {
		r.CPUTotal, r.CPUUser, r.CPUSystem = 100*cpu.Process, 100*cpu.User, 100*cpu.System
	}
	for _, l := range legs {
		if l == nil {
			continue
		}
		switch l.(type) {
		case *sending:
			r.SenderHasRetransmits = 0
		case *tcpSending:
			r.SenderHasRetransmits = 0
			if runtime.GOOS == "linux" {
				r.SenderHasRetransmits = 1
			}
		}
		r.Streams = append(r.Streams, l.(accounted).results(len(r.Streams))...)
	}
	if len(s.tcp) > 0 {
		r.CongestionUsed, _ = tcp.Congestion(s.tcp[0]) // unknown where the system does not tell
	}
	return r
}

// describeTCP adds to the report what the kernel made of the streams' sockets.
func describeTCP(c *result.Config, s *streams) error {
	conn := s.tcp[0]
	if mss, err := tcp.MSS(conn); err == nil {
		c.MSS = mss
	}
	if name, err := tcp.Congestion(conn); err == nil {
		c.Congestion = name
	}
	send, receive, err := tcp.Window(conn)
	if err != nil || c.WindowAsked == 0 {
		return nil // the kernel tunes it by itself
	}
	c.WindowGot = receive / kernelDoubles
	if s.describe()[0].Sender {
		c.WindowGot = send / kernelDoubles
	}
	return nil
}

// stockReceiver is what a stock receiver tells of what this end sent.
func stockReceiver(s *sending, theirs []iperf3.StreamResult) *result.Receiver {
	sent := s.sent()
	r := s.heardOf(sent.Packets, theirs)
	if len(theirs) < 2 || len(theirs) != len(sent.Flows) {
		return r
	}
	for i := range theirs {
		one := s.heardOf(sent.Flows[i].Packets, theirs[i:i+1])
		one.Flow = sent.Flows[i].Flow
		r.Flows = append(r.Flows, *one)
	}
	// What one stream has twice does not make good what another lost.
	r.Lost, r.Unique = 0, 0
	for _, f := range r.Flows {
		r.Lost, r.Unique = r.Lost+f.Lost, r.Unique+f.Unique
	}
	r.Packets = max(r.Packets, r.Unique)
	r.Duplicates = r.Packets - r.Unique
	r.LossRatio = lossRatio(r.Lost, sent.Packets)
	return r
}

// heardOf is what a stock receiver tells of streams by which so many packets left.
func (s *sending) heardOf(sent uint64, theirs []iperf3.StreamResult) *result.Receiver {
	r := &result.Receiver{ArrivedPackets: &result.ArrivedPackets{}}
	size := int64(s.plan.Schedule.Sizes[0])
	var errors int64
	var jitter float64
	for _, t := range theirs {
		r.PayloadBytes += uint64(t.Bytes)
		errors += t.Errors - t.OmittedErrors
		jitter += t.Jitter / float64(len(theirs))
		r.Seconds = max(r.Seconds, t.EndTime)
	}
	// It counts bytes, copies among them, and takes a copy for a late packet that
	// makes good a loss. The sender's count sees through part of that.
	arrived := r.PayloadBytes / uint64(size)
	lost := uint64(max(errors, 0))
	if missing := sent - min(arrived, sent); missing > lost {
		lost = missing
	}
	lost = min(lost, sent)
	r.Lost, r.Unique = lost, sent-lost
	r.Packets = max(arrived, r.Unique)
	r.Duplicates = r.Packets - r.Unique
	r.LossRatio = lossRatio(lost, sent)
	if arrived > 1 {
		ns := int64(jitter * 1e9)
		r.JitterNS = &ns
	}
	r.Rate = rate(s.plan.Stack, arrived, r.PayloadBytes, time.Duration(r.Seconds*1e9))
	return r
}

// lossRatio is nil where nothing was sent.
func lossRatio(lost, sent uint64) *float64 {
	if sent == 0 {
		return nil
	}
	ratio := float64(lost) / float64(sent)
	return &ratio
}

// stockSender is what a stock sender tells of what it sent.
func stockSender(theirs []iperf3.StreamResult, overTCP bool, retransmits bool) *result.Sender {
	s := &result.Sender{}
	var packets, again uint64
	for _, t := range theirs {
		s.PayloadBytes += uint64(max(t.Bytes, 0))
		packets += uint64(max(t.Packets-t.OmittedPackets, 0))
		again += uint64(max(t.Retransmits, 0))
		s.Seconds = max(s.Seconds, t.EndTime)
		if len(theirs) > 1 {
			one := stockSender([]iperf3.StreamResult{t}, overTCP, retransmits)
			number := uint16(len(s.Flows))
			one.Flow = &number
			s.Flows = append(s.Flows, *one)
		}
	}
	if overTCP {
		s.Rate = tcpRate(s.PayloadBytes, time.Duration(s.Seconds*1e9))
		if s.SentTCP = (&result.SentTCP{}); retransmits {
			s.Retransmits = &again
		}
		return s
	}
	s.SentPackets = &result.SentPackets{Packets: packets}
	return s
}

// stockTCPReceiver is what a stock receiver tells of TCP streams.
func stockTCPReceiver(theirs []iperf3.StreamResult) *result.Receiver {
	r := &result.Receiver{}
	for i, t := range theirs {
		r.PayloadBytes += uint64(max(t.Bytes, 0))
		r.Seconds = max(r.Seconds, t.EndTime)
		if len(theirs) > 1 {
			one := stockTCPReceiver([]iperf3.StreamResult{t})
			number := uint16(i)
			one.Flow = &number
			r.Flows = append(r.Flows, *one)
		}
	}
	r.Rate = tcpRate(r.PayloadBytes, time.Duration(r.Seconds*1e9))
	return r
}

// hostOf is the other end as far as a stock peer tells of it.
func hostOf(role string, r *iperf3.Results) result.Host {
	return result.Host{Role: role, CPU: &result.CPU{Process: r.CPUTotal / 100, User: r.CPUUser / 100, System: r.CPUSystem / 100}}
}
