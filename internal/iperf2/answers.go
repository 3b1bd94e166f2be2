package iperf2

import "linerate/internal/probe"

// Answers are what a server sends on a UDP flow that has ended: one report, the
// same to each FIN, as the client repeats its FIN until an answer arrives. In
// all they are no larger than what came, so that nobody can point them at a
// third party to gain by it.
type Answers struct {
	report []byte
	credit uint64 // bytes that came, less those of the answers
}

// NewAnswers prepares the answers to a flow on which so many bytes of UDP
// payload came, the FIN not among them.
func NewAnswers(r *Report, l Layout, fin []byte, received uint64) *Answers {
	return &Answers{r.Append(nil, l, fin), received}
}

// To is the answer to a datagram of the flow; nil where it gets none. It takes
// any input. The answer belongs to a, which never changes it.
func (a *Answers) To(b []byte) []byte {
	a.credit += uint64(len(b))
	if _, kind := probe.IPerf2.Parse(b); kind != probe.End || a.credit < uint64(len(a.report)) {
		return nil
	}
	a.credit -= uint64(len(a.report))
	return a.report
}
