package session

import (
	"time"

	"linerate/gen"
	"linerate/internal/linux"
	"linerate/internal/plan"
	"linerate/internal/probe"
)

const (
	markers    = 10 // end markers, so that one arrives where most packets are lost
	markerGap  = 3 * time.Millisecond
	finGap     = 10 * time.Millisecond // between the FINs of iperf 2, as it sends them
	finPerFlow = 3
)

// farewell tells the receiver that the sender is done and how much it sent per flow, in
// the words of the format; iperf3's datagrams have none.
func farewell(s *gen.Crew, p *plan.Send, sent []uint64) error {
	switch p.Config.Template.Stamper.Format {
	case probe.Native:
		return sendMarkers(s, len(sent), endMarker(p.Config.Template.Stamper.Run, sent))
	case probe.IPerf2:
		return sendFINs(s, &p.Config.Template.Stamper, p.Schedule.Sizes[0], sent)
	}
	return nil
}

// sendMarkers tries to send all markers, spread over the flows as a receiver may see
// some of these alone; the error is that none could be sent.
func sendMarkers(s *gen.Crew, flows int, m probe.EndMarker) error {
	var failed error
	sent := 0
	here := readClock()
	for i := range markers {
		if i > 0 {
			time.Sleep(markerGap)
		}
		here.read(&m)
		if err := s.Mark(uint16(i*flows/markers), probe.AppendEnd(nil, &m)); err != nil {
			failed = err
		} else {
			sent++
		}
	}
	if sent > 0 {
		return nil
	}
	return failed
}

// endMarker has what the receiver can't know: the counts. The clock is added as it
// is sent.
func endMarker(run uint16, sent []uint64) probe.EndMarker {
	return probe.EndMarker{Run: run, Counts: probe.CompressCounts(sent)}
}

func sendFINs(s *gen.Crew, st *probe.Stamper, size int, sent []uint64) error {
	for try := range finPerFlow {
		if try > 0 {
			time.Sleep(finGap)
		}
		for flow, n := range sent {
			fin := st.AppendFIN(nil, size, n, try, linux.Monotonic())
			if err := s.Mark(uint16(flow), fin); err != nil {
				return err
			}
		}
	}
	return nil
}
