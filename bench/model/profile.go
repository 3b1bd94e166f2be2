package model

import (
	"math"
	"time"
)

// BurstTimes are how long a burst takes on a link, and how far apart bursts of the
// committed size are that a policer lets pass (RFC 7640, section 6.1.1).
func BurstTimes(cbs, cir, link float64) (burst, interval time.Duration) {
	at := func(bps float64) time.Duration { return time.Duration(math.Round(8 * cbs / bps * 1e9)) }
	return at(link), at(cir)
}

// ServiceRates are the rates of a service activation test in the unit of CIR (ITU-T
// Y.1564, section 8.1.2).
type ServiceRates struct {
	Steps         [4]float64 // test A.2
	CIRAndEIR     float64    // test B
	Policing      float64    // test C.2, colour-blind
	Green, Yellow float64    // test C.1
}

// ServiceRatesOf works out the rates of a service.
func ServiceRatesOf(cir, eir float64) ServiceRates {
	r := ServiceRates{CIRAndEIR: cir + eir, Green: cir, Yellow: 1.25 * eir}
	for i := range r.Steps {
		r.Steps[i] = cir * float64(i+1) / 4
	}
	if eir < 0.2*cir { // the excess of CIR would hardly exceed it
		r.Yellow = eir + 0.25*cir
	}
	r.Policing = r.Green + r.Yellow
	return r
}

// A Colour is what a bandwidth profile makes of a frame.
type Colour byte

const (
	Green  Colour = 'G'
	Yellow Colour = 'Y'
	Red    Colour = 'R'
)

// A Profile is a two-rate three-colour marker (MEF 10, RFC 4115), colour-blind: the
// oracle of what a policer passes. Its buckets begin full.
type Profile struct {
	CIR, EIR float64 // bit/s
	CBS, EBS float64 // bytes
	Coupling bool    // what the green bucket can't hold fills the yellow one

	used   bool
	at     time.Duration
	bc, be float64
}

// Mark takes a frame of so many bytes that comes at a time, no earlier than the one
// before, and returns its colour.
func (p *Profile) Mark(at time.Duration, bytes float64) Colour {
	if !p.used {
		p.used, p.at, p.bc, p.be = true, at, p.CBS, p.EBS
	}
	elapsed := (at - p.at).Seconds()
	p.at = at
	p.bc += elapsed * p.CIR / 8
	p.be += elapsed * p.EIR / 8
	if over := p.bc - p.CBS; over > 0 {
		p.bc = p.CBS
		if p.Coupling {
			p.be += over
		}
	}
	p.be = min(p.be, p.EBS)
	switch {
	case bytes <= p.bc:
		p.bc -= bytes
		return Green
	case bytes <= p.be:
		p.be -= bytes
		return Yellow
	}
	return Red
}

// Tokens are the bytes that the green and the yellow bucket hold.
func (p *Profile) Tokens() (green, yellow float64) { return p.bc, p.be }
