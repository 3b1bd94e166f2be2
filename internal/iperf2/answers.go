package iperf2

import "linerate/internal/probe"

// Answers are what a server sends on a UDP flow that has ended: one report, the
// same to each FIN, as the client repeats its FIN until an answer arrives. In
// all they are no larger than what came, so that nobody can point them at a
// third party to gain by it.
type Answers struct {
	report *Report
	layout Layout
	credit uint64 // bytes that came, less those of the answers
}

// NewAnswers prepares the answers to a flow on which so many bytes of UDP
// payload came.
func NewAnswers(r *Report, l Layout, received uint64) *Answers {
	return &Answers{r, l, received}
}

// First answers a FIN that has been received already; nil where the layout
// gives back the FIN's front, so that the next one has to be waited for.
func (a *Answers) First() []byte {
	if a.layout != Layout21 {
		return nil
	}
	return a.answer(nil)
}

// To is the answer to a datagram of the flow; nil where it gets none. It takes
// any input.
func (a *Answers) To(b []byte) []byte {
	a.credit += uint64(len(b))
	if _, kind := probe.IPerf2.Parse(b); kind != probe.End {
		return nil
	}
	return a.answer(b)
}

func (a *Answers) answer(fin []byte) []byte {
	if a.credit < ReportSize {
		return nil
	}
	a.credit -= ReportSize
	return a.report.Append(nil, a.layout, fin)
}
