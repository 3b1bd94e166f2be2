package iperf3

import "time"

// Limits are a server's own, beyond those of the protocol. A zero is none.
type Limits struct {
	Rate     int64         // bit/s of payload of all streams of a test together
	Duration time.Duration // of a test, what is omitted included
}

// Check returns None, or the code to refuse the parameters with: they are
// outside the bounds of iperf3's options or of the limits.
func (p *Params) Check(limits Limits) Code {
	if p.SCTP {
		return BadProtocol
	}
	if p.Reverse && p.Bidirectional {
		return ReverseAndBidir
	}
	if p.Num > 0 && p.BlockCount > 0 {
		return BadEnd
	}
	if p.UDP && (p.Len < MinBlockUDP || p.Len > MaxBlockUDP) {
		return BadBlockUDP
	}
	for _, bound := range []struct {
		value, least, most int64
		code               Code
	}{
		{int64(p.Time), 0, 86400, BadDuration},
		{int64(p.Omit), 0, 600, BadOmit},
		{p.Num, 0, 1<<63 - 1, BadEnd},
		{p.BlockCount, 0, 1<<63 - 1, BadEnd},
		{int64(p.Parallel), 1, MaxStreams, BadStreams},
		{int64(p.Len), 0, MaxBlockTCP, BadBlock},
		{int64(p.Window), 0, 512 << 20, BadWindow},
		{int64(p.MSS), 0, 32767, BadMSS},
		{int64(p.Burst), 0, 1000, BadBurst},
		{int64(p.TOS), 0, 255, BadTOS},
		{int64(p.FlowLabel), 0, 0xfffff, BadFlowLabel},
		{int64(p.ServerAffinity), 0, 1024, BadAffinity},
		{p.FQRate, 0, 1<<63 - 1, BadPacing},
		{p.Bandwidth, 0, 1<<63 - 1, OverRateLimit},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			return bound.code
		}
	}
	return p.checkLimits(limits)
}

// checkLimits wants the parameters to be within the protocol's own bounds. An
// amount of bytes or blocks may last for any time: the server has to end it.
func (p *Params) checkLimits(limits Limits) Code {
	streams := int64(p.Parallel)
	if p.Bidirectional {
		streams *= 2
	}
	if limits.Rate > 0 && (p.Bandwidth == 0 || p.Bandwidth > limits.Rate/streams) {
		return OverRateLimit
	}
	length := time.Duration(p.Time+p.Omit) * time.Second
	endless := p.Time == 0 && p.Num == 0 && p.BlockCount == 0
	if limits.Duration > 0 && (endless || length > limits.Duration) {
		return OverMaxDuration
	}
	return None
}
