package report

import "linerate/internal/result"

// iperf3End is the object end. Sum, of UDP alone, has the sender's bytes and
// packets with the receiver's losses; the sums of what was sent and of what was
// received tell both apart. The sums of the second direction of --bidir, from the
// server to the client, come after those of the first.
type iperf3End struct {
	Streams         []iperf3StreamEnd `json:"streams,omitempty"`
	Sum             *iperf3Row        `json:"sum,omitempty"`
	SumSent         *iperf3Row        `json:"sum_sent,omitempty"`
	SumReceived     *iperf3Row        `json:"sum_received,omitempty"`
	Reverse         *iperf3Row        `json:"sum_bidir_reverse,omitempty"`
	ReverseSent     *iperf3Row        `json:"sum_sent_bidir_reverse,omitempty"`
	ReverseReceived *iperf3Row        `json:"sum_received_bidir_reverse,omitempty"`

	CPU                *iperf3CPU `json:"cpu_utilization_percent,omitempty"`
	SenderCongestion   string     `json:"sender_tcp_congestion,omitempty"`
	ReceiverCongestion string     `json:"receiver_tcp_congestion,omitempty"`
}

// iperf3StreamEnd is one stream at the end: of UDP one object, of TCP one for each
// end.
type iperf3StreamEnd struct {
	UDP      *iperf3Row `json:"udp,omitempty"`
	Sender   *iperf3Row `json:"sender,omitempty"`
	Receiver *iperf3Row `json:"receiver,omitempty"`
}

// iperf3CPU is in percent of one core. Readers want all six keys: 0 is unknown.
type iperf3CPU struct {
	HostTotal    float64 `json:"host_total"`
	HostUser     float64 `json:"host_user"`
	HostSystem   float64 `json:"host_system"`
	RemoteTotal  float64 `json:"remote_total"`
	RemoteUser   float64 `json:"remote_user"`
	RemoteSystem float64 `json:"remote_system"`
}

func (f *IPerf3) jsonEnd(r *result.Report) iperf3End {
	local, remote := f.cpus(r)
	here, there := orZero(local), orZero(remote)
	end := iperf3End{CPU: &iperf3CPU{
		HostTotal: 100 * here.Process, HostUser: 100 * here.User, HostSystem: 100 * here.System,
		RemoteTotal: 100 * there.Process, RemoteUser: 100 * there.User, RemoteSystem: 100 * there.System,
	}}
	for _, l := range f.lanes(r) {
		streams, sum := l.ends(r)
		for _, s := range streams {
			end.Streams = append(end.Streams, streamEnd(r, &l, s))
		}
		both := sum.both(l.sends)
		if tcp(r) {
			both = nil
		}
		if l.back {
			end.Reverse, end.ReverseSent, end.ReverseReceived = both, sum.sent, sum.received
		} else {
			end.SenderCongestion, end.ReceiverCongestion = congestions(r, &l)
			end.Sum, end.SumSent, end.SumReceived = both, sum.sent, sum.received
		}
	}
	return end
}

func streamEnd(r *result.Report, l *lane, s iperf3Ends) iperf3StreamEnd {
	if tcp(r) {
		return iperf3StreamEnd{Sender: s.sent, Receiver: s.received}
	}
	return iperf3StreamEnd{UDP: s.both(l.sends)}
}
