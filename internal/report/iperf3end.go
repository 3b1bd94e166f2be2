package report

import "linerate/internal/result"

// An iperf3Ends is what both ends of a stream, or of all streams of a lane, tell
// at the end of a test; nil where an end told nothing.
type iperf3Ends struct {
	socket         *int // nil of a sum
	sent, received *iperf3Row
}

// ends are the rows of a lane over the test: of each stream, and their sum.
func (l *lane) ends(r *result.Report) (streams []iperf3Ends, sum iperf3Ends) {
	length := l.length(r)
	for i, socket := range l.sockets {
		streams = append(streams, l.streamEnds(r, length, i, &socket))
	}
	if l.sender != nil {
		sum.sent = l.sent(r, length, l.sender)
		sum.sent.iperf3Extremes, sum.sent.Reorder = nil, nil
	}
	if l.receiver != nil {
		sum.received = l.received(r, length, l.receiver)
	}
	return streams, sum
}

// streamEnds are the rows of one stream.
func (l *lane) streamEnds(r *result.Report, length float64, i int, socket *int) iperf3Ends {
	e := iperf3Ends{socket: socket}
	if l.sender != nil {
		if s := ofStream(l, i, l.sender, l.sender.Flows, func(s *result.Sender) *uint16 { return s.Flow }); s != nil {
			e.sent = l.sent(r, length, s)
			e.sent.Socket = socket
		}
	}
	if l.receiver == nil {
		return e
	}
	if c := ofStream(l, i, l.receiver, l.receiver.Flows, func(c *result.Receiver) *uint16 { return c.Flow }); c != nil {
		e.received = l.received(r, length, c)
		e.received.Socket = socket
		if !tcp(r) {
			e.received.OutOfOrder = &orZero(c.Arrivals).Reordered
		}
	}
	return e
}

func (l *lane) sent(r *result.Report, length float64, s *result.Sender) *iperf3Row {
	row := newRow(0, length, s.PayloadBytes, l.sends)
	if !tcp(r) {
		row.Sender = true
		row.tell(orZero(s.SentPackets).Packets, 0, nil)
		return &row
	}
	if t := orZero(s.SentTCP); t.Retransmits != nil {
		rtt := orZero(t.RTTNS)
		row.Retransmits = t.Retransmits
		row.iperf3Extremes = &iperf3Extremes{
			MaxSndCwnd: *orZero(t.MaxCwndBytes),
			MaxSndWnd:  *orZero(t.MaxSendWindow),
			MaxRTT:     rtt.Max / 1000,
			MinRTT:     rtt.Min / 1000,
			MeanRTT:    rtt.Mean / 1000,
		}
		row.Reorder = t.Reordering
	}
	return &row
}

func (l *lane) received(r *result.Report, length float64, c *result.Receiver) *iperf3Row {
	if tcp(r) {
		row := newRow(0, length, c.PayloadBytes, l.sends)
		return &row
	}
	p, bytes := orZero(c.ArrivedPackets), c.PayloadBytes
	if c.Arrivals != nil {
		bytes = c.UniquePayloadBytes // which a stock peer does not tell
	}
	row := newRow(0, length, bytes, false)
	row.tell(p.Unique, p.Lost, meanJitter(p.JitterNS, c.Flows, func(c *result.Receiver) *int64 {
		return orZero(c.ArrivedPackets).JitterNS
	}))
	return &row
}

// both is the one row that iperf3 makes of both ends of UDP: the sender's bytes
// and packets with the receiver's losses. Where an end told nothing the other's
// stand alone.
func (e iperf3Ends) both(sends bool) *iperf3Row {
	if e.sent == nil && e.received == nil {
		return nil
	}
	if e.sent == nil {
		row := *e.received
		row.Sender = sends
		return &row
	}
	row := *e.sent
	row.Sender = sends
	row.JitterMS, row.LostPackets, row.LostPercent = nil, nil, nil
	if c := e.received; c != nil {
		row.JitterMS, row.LostPackets, row.LostPercent, row.OutOfOrder = c.JitterMS, c.LostPackets, c.LostPercent, c.OutOfOrder
	}
	return &row
}
