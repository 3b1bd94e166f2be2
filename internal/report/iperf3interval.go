package report

import "linerate/internal/result"

// intervalRows are the rows of a lane in an interval as this end saw it: one a
// stream, and their sum.
func (l *lane) intervalRows(r *result.Report, iv *result.Interval) (streams []iperf3Row, sum iperf3Row) {
	sent, received := l.halves(iv)
	sent, received = orZero(sent), orZero(received)
	row := func(s *result.SenderInterval, c *result.ReceiverInterval) iperf3Row {
		row := receiverInterval(iv, c, tcp(r))
		if l.sends {
			row = senderInterval(iv, s, tcp(r))
		}
		row.Omitted = &iv.Omitted
		return row
	}
	for i, socket := range l.sockets {
		stream := row(
			orZero(ofStream(l, i, sent, sent.Flows, func(s *result.SenderInterval) *uint16 { return s.Flow })),
			orZero(ofStream(l, i, received, received.Flows, func(c *result.ReceiverInterval) *uint16 { return c.Flow })))
		stream.Socket = &socket
		streams = append(streams, stream)
	}
	sum = row(sent, received)
	sum.iperf3Gauges, sum.Reorder = nil, nil
	return streams, sum
}

func senderInterval(iv *result.Interval, s *result.SenderInterval, tcp bool) iperf3Row {
	row := newRow(iv.StartS, iv.EndS, s.PayloadBytes, true)
	if !tcp {
		row.Packets = &orZero(s.IntervalSent).Packets
		return row
	}
	if t := orZero(s.IntervalTCP); t.Retransmits != nil {
		row.Retransmits = t.Retransmits
		row.iperf3Gauges = &iperf3Gauges{
			SndCwnd: *orZero(t.CwndBytes),
			SndWnd:  *orZero(t.SendWindow),
			RTT:     *orZero(t.RTTNS) / 1000,
			RTTVar:  *orZero(t.RTTVarNS) / 1000,
			PMTU:    *orZero(t.PMTU),
		}
		row.Reorder = t.Reordering
	}
	return row
}

func receiverInterval(iv *result.Interval, c *result.ReceiverInterval, tcp bool) iperf3Row {
	if tcp {
		return newRow(iv.StartS, iv.EndS, c.PayloadBytes, false)
	}
	p := orZero(c.IntervalArrived)
	row := newRow(iv.StartS, iv.EndS, p.UniquePayloadBytes, false)
	row.tell(p.Unique, p.Lost, meanJitter(p.JitterNS, c.Flows, func(c *result.ReceiverInterval) *int64 {
		return orZero(c.IntervalArrived).JitterNS
	}))
	return row
}
