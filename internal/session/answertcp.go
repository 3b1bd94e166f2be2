package session

import (
	"context"

	"linerate/internal/tcp"
)

// options are those of the streams' TCP sockets.
func (s *server) options() tcp.Options {
	o := tcp.Options{
		Window: s.Params.Window, Congestion: s.Params.Congestion, NoDelay: s.Params.NoDelay, TOS: uint8(s.Params.TOS),
		Pace: uint64(s.Params.FQRate) / 8,
	}
	if s.ask != nil {
		o.TTL, o.Pace = s.ask.TTL, s.ask.Pace
	}
	return o
}

func (s *server) legsTCP(context.Context) error {
	in, _ := s.counts()
	pattern, verify, err := s.pattern()
	if err != nil {
		return err
	}
	if in > 0 {
		r := newTCPReceiving(newTCPStreams(s.streams.tcp[:in], s.interval(), s.omit()), verify)
		s.in = r
	}
	if in < len(s.streams.tcp) {
		task := tcpTask{pattern: pattern, blockLen: s.Params.Len, rate: s.rateTCP(), zeroCopy: s.Params.ZeroCopy}
		if s.ask != nil {
			task.bytes, task.duration = uint64(s.ask.Bytes), s.duration()
		}
		out := newTCPSending(newTCPStreams(s.streams.tcp[in:], s.interval(), s.omit()), task)
		out.ends = true // or a stock client waits in vain for a block to be whole
		s.out = out
	}
	s.rep.Config.Flows, s.rep.Config.PayloadBytes = s.Params.Parallel, s.Params.Len
	s.rep.Config.PaceBps = 8 * float64(s.options().Pace)
	return describeTCP(s.rep.Config, &s.streams)
}

// rateTCP is the bit/s of payload at which each stream sends; 0 for no limit.
func (s *server) rateTCP() uint64 {
	asked := uint64(s.Params.Bandwidth)
	if s.MaxRate == 0 {
		return asked
	}
	in, out := s.counts()
	share := max(s.MaxRate/uint64(in+out), 1)
	if asked == 0 {
		return share
	}
	return min(asked, share)
}
